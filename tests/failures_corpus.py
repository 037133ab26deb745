"""Reports of failures as programs print them, invented for this file.

`ALIKE` holds groups of reports of one and the same failure. `FAILED` and `FINE` are what tools
answered when something failed, and when nothing did.
"""

from __future__ import annotations

ALIKE: dict[str, list[str]] = {}

ALIKE["python: adds a number and a text"] = [
    r"""Traceback (most recent call last):
  File "C:\Users\bob\shop\main.py", line 7, in <module>
    run()
  File "C:\Users\bob\shop\cart.py", line 9, in run
    total = price + tax
TypeError: unsupported operand type(s) for +: 'float' and 'str'""",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
]

ALIKE["python: a missing key"] = [
    "KeyError: 'size'",
    'KeyError: "the user\'s name"',
    """E       KeyError: 'colour'""",
]

ALIKE["python: a file that is not there"] = [
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpab12cd34/x'",
    "ERROR:root:FileNotFoundError: [Errno 2] No such file or directory: 'prices.csv'",
    """Traceback (most recent call last):
  File "/home/ann/a.py", line 1, in <module>
    open("/home/ann/data/prices.csv")
FileNotFoundError: [Errno 2] No such file or directory: '/home/ann/data/prices.csv'""",
]

ALIKE["pytest: a sum that is wrong"] = [
    """_______________________________ TestCart.test_total ______________________________
    def test_total(self):
>       assert total([1, 2]) == 4
E       AssertionError: assert 3 == 4

tests/test_cart.py:99: AssertionError""",
    """FAILED tests/test_cart.py::test_total - assert 3 == 4
1 failed, 12 passed in 1.02s""",
]

ALIKE["pytest: a message of its own"] = [
    """____________________________________ test_stock ___________________________________
>       assert stock() >= 0, "the stock must not be negative"
E       AssertionError: the stock must not be negative
E       assert -2 >= 0
tests/test_stock.py:5: AssertionError""",
    "AssertionError: the stock must not be negative",
]

ALIKE["node: a refused connection"] = [
    "Error: connect ECONNREFUSED 10.0.0.7:5432",
    "connect ECONNREFUSED ::1:5432",
    """node:events:497
      throw er; // Unhandled 'error' event
      ^

Error: connect ECONNREFUSED 127.0.0.1:5432
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:151:8) {
  errno: -111,
  code: 'ECONNREFUSED',
  syscall: 'connect',
  address: '127.0.0.1',
  port: 5432
}

Node.js v20.11.0""",
]

ALIKE["npm: a package that is not in the registry"] = [
    """npm ERR! code E404
npm ERR! 404 Not Found - GET https://registry.npmjs.org/left-padd - Not found
npm ERR! 404
npm ERR! 404  'left-padd@^1.0.0' is not in this registry.
npm ERR! A complete log of this run can be found in: /home/ann/.npm/_logs/2024-05-01T10_22_31_123Z-debug-0.log""",
    """npm warn deprecated rimraf@3.0.2: old
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/x - Not found""",
]

ALIKE["jest: a price that differs"] = [
    """  ● cart \u203a adds the tax

    expect(received).toBe(expected) // Object.is equality

    Expected: 11.9
    Received: 10""",
    """PASS src/a.test.js
FAIL src/cart.test.js (5.2 s)
  ● cart \u203a adds the tax

    expect(received).toBe(expected) // Object.is equality

      at Object.toBe (src/cart.test.js:14:22)""",
]

ALIKE["go: an index out of range"] = [
    """panic: runtime error: index out of range [17] with length 9 [recovered]
	panic: runtime error: index out of range [17] with length 9

goroutine 34 [running]:
testing.tRunner.func1.2({0x4f5d00, 0xc0000180f0})
	/usr/local/go/src/testing/testing.go:1631 +0x24a""",
    "panic: runtime error: index out of range [0] with length 0",
]

ALIKE["go: a nil pointer"] = [
    """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47b0a5]

goroutine 1 [running]:
main.main()
	/home/ann/main.go:9 +0x25""",
    "panic: runtime error: invalid memory address or nil pointer dereference",
]

ALIKE["go: a name that is not defined"] = [
    """go: downloading golang.org/x/text v0.14.0
# example.com/shop/internal
internal/cart.go:3:9: undefined: foo
FAIL	example.com/shop/internal [build failed]
FAIL""",
    "./main.go:12:5: undefined: foo",
]

ALIKE["go: a test of the sum"] = [
    """--- FAIL: TestTotal (0.00s)
    cart_test.go:8: Total(1, 2) = 4, want 3
FAIL
exit status 1
FAIL	example.com/shop	0.002s""",
    """ok  	example.com/shop/a	0.1s
--- FAIL: TestTotal (1.20s)
    cart_test.go:80: Total(1, 2) = 5, want 3
FAIL""",
]

ALIKE["rust: an index out of bounds"] = [
    """thread 'worker-3' (28816) panicked at /home/bob/shop/src/lib.rs:105:1:
index out of bounds: the len is 0 but the index is 0
stack backtrace:
   0: rust_begin_unwind
             at /rustc/82e1608dfa6e0b5569232559e3d385fea5a93112/library/std/src/panicking.rs:645:5""",
    """thread 'main' panicked at 'index out of bounds: the len is 8 but the index is 9', src/main.rs:50:19
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace""",
]

ALIKE["rust: a file that cannot be opened"] = [
    """thread 'main' panicked at src/main.rs:3:38:
called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: "No such file or directory" }""",
    "thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: "
    "NotFound, message: "
    '"No such file or directory" }\', src/main.rs:30:8',
    """thread 'tokio-runtime-worker' panicked at crates/io/src/lib.rs:88:14:
called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: "No such file or directory" }
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace""",
]

ALIKE["java: nothing where a text should be"] = [
    """2024-05-01 10:00:00.123 ERROR 4711 --- [nio-8080-exec-3] c.s.CartController : request failed
java.lang.RuntimeException: cannot show the cart
	at com.shop.CartController.show(CartController.java:31)
	... 40 more
Caused by: java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null
	at com.shop.Cart.total(Cart.java:12)
	... 52 common frames omitted""",
    'java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null',
]

ALIKE["java: a refused connection at the root"] = [
    """java.lang.IllegalStateException: Failed to load ApplicationContext
	at org.springframework.test.context.cache.DefaultCache.load(DefaultCache.java:98)
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.pollConnect(Native Method)
	... 90 more""",
    "Caused by: java.net.ConnectException: Connection refused",
]

ALIKE["java: another symbol that is not there"] = [
    "/srv/A.java:9: error: cannot find symbol\n  symbol:   class Mony",
    """Cart.java:10: error: cannot find symbol
  symbol:   class Mony
  location: class Cart""",
    """[ERROR] /srv/shop/src/Cart.java:[1,9] cannot find symbol
[ERROR]   symbol:   class Mony
[ERROR]   location: package com.shop""",
]

ALIKE["shell: a command that is not installed"] = [
    "bash: frobnicate: command not found",
    "-bash: frobnicate: command not found",
    "bash: line 1: frobnicate: command not found",
]

ALIKE["shell: a file that is not there"] = [
    "cat: notes.txt: No such file or directory",
    "cat: /home/ann/notes.txt: No such file or directory",
    "cat: /home/bob/todo/notes.txt: No such file or directory",
]

ALIKE["shell: exit code 1"] = [
    "Command failed with exit code 1",
    "Command failed with exit code 1.",
    "\n\n  Command failed with exit code 1\n",
]

ALIKE["shell: exit code 127"] = [
    "Command failed with exit code 127",
    "Command failed with exit code 127.",
    "starting\nCommand failed with exit code 127",
]

ALIKE["make: a target that failed"] = [
    "make: *** [Makefile:12: wheel] Error 2",
    "make: *** [wheel] Error 2",
    "make[1]: *** [Makefile:3: wheel] Error 2\nmake[1]: Leaving directory '/home/ann/shop'",
]

ALIKE["cargo: a library that the linker does not find"] = [
    "error: linking with `cc` failed: exit status: 1\n  = note: /usr/bin/ld: cannot find -lpq: No "
    "such file or directory",
    'error: linking with `cc` failed: exit status: 1\n  |\n  = note: "cc" "-m64"\n  = note: '
    "/usr/bin/ld: cannot find -lpq: No such file or directory\n\n"
    'error: could not compile `shop` (bin "shop") due to 1 previous error',
    "   Compiling cart v0.2.0\nerror: linking with `clang` failed: exit status: 1\n  = note: "
    "/usr/local/bin/ld: cannot find -lpq: No such file or directory\n"
    "error: could not compile `cart` (lib) due to 1 previous error",
]

ALIKE["c: a name that was not declared"] = [
    "/home/ann/x/cart.c:50:1: error: \u2018price\u2019 undeclared (first use in this function)",
    "src/a.c:1:2: error: `x' undeclared (first use in this function)\nmake: *** [a.o] Error 1",
    """main.c: In function 'main':
main.c:5:10: error: 'total' undeclared (first use in this function)
    5 |   return total;
      |          ^~~~~""",
]

ALIKE["mysql: a query that an agent made"] = [
    "Error executing query: Unknown column 'height' in 'field list'",
    "Error executing query: Unknown column 'p.weight' in 'on clause'",
    "\tError executing query: Unknown column 'T1.age' in 'order clause'\n",
]

ALIKE["json: what a tool wrote on its second output"] = [
    '{"stdout": "", "stderr": "ls: cannot access \'x\': No such file or directory", "exit_code": 2}',
    "ls: cannot access 'y/z': No such file or directory",
    '{"exit_code": 2, "stderr": "ls: cannot access \'/home/ann/q\': No such file or directory\\n"}',
]

ALIKE["log: a queue that is gone"] = [
    "2024-05-01 10:22:31,123 - shop.worker - ERROR - queue mail is gone after 30s",
    "2025-01-31 00:00:00,999 - shop.worker - ERROR - queue mail is gone after 2.5s",
    "ERROR:shop.worker:queue mail is gone after 7s",
]

ALIKE["python: a group of exceptions around a bad port"] = [
    """  + Exception Group Traceback (most recent call last):
  |   File "/srv/serve.py", line 12, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/serve.py", line 33, in first
    |     raise ValueError("port 70000 is out of range")
    | ValueError: port 70000 is out of range
    +------------------------------------""",
    """INFO serving
  + Exception Group Traceback (most recent call last):
  |   File "/tmp/x/serve.py", line 1, in <module>
  |     go()
  | ExceptionGroup: unhandled errors in a TaskGroup (3 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/tmp/x/serve.py", line 2, in first
    |     raise ValueError("port 99999 is out of range")
    | ValueError: port 99999 is out of range
    +---------------- ... ----------------
    | and 2 more exceptions
    +------------------------------------""",
]

# One a line: answers of tools in which something failed.
FAILED: list[str] = """
Error executing query: Unknown column 'x' in 'field list'
Error executing query: Table 'shop.users' doesn't exist
Command failed with exit code 1
Command failed with exit code 127.
Process exited with code 2
The process exited with status 137
e: src/Main.kt:3:13 Unresolved reference: total
[error] Shop.scala:3:13: not found: value total
fatal: [web1]: UNREACHABLE! => {"changed": false, "msg": "Failed to connect to the host via ssh"}
subprocess.CalledProcessError: Command '['make']' returned non-zero exit status 2.
bash: foo: command not found
zsh: command not found: foo
sh: 1: foo: not found
1 failed, 3 passed
========= 2 failed, 10 passed, 1 skipped in 3.41s =========
Tests: 1 failed, 4 passed, 5 total
Tests run: 5, Failures: 1, Errors: 0, Skipped: 0
FAILED (failures=1)
FAILED tests/test_cart.py::test_total - assert 3 == 4
tests/test_cart.py::test_total FAILED [ 50%]
test tests::adds ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored
--- FAIL: TestTotal (0.00s)
not ok 3 - adds the tax
Traceback (most recent call last)
Traceback (most recent call last):
npm ERR! missing script: build
npm error code E404
FAIL
FAIL src/cart.test.js
panic: assignment to entry in nil map
fatal: not a git repository (or any of the parent directories): .git
Segmentation fault
Segmentation fault (core dumped)
Killed
permission denied
Permission denied (publickey).
mkdir: cannot create directory '/opt/x': Permission denied
EACCES: permission denied, open '/etc/shadow'
ERROR: Could not find a version that satisfies the requirement foo
error: externally-managed-environment
error[E0382]: borrow of moved value: `x`
src/a.ts(1,2): error TS2304: Cannot find name 'x'.
./main.go:12:5: undefined: foo
main.c:5:3: error: expected ';' before 'return'
app.py:12: error: Incompatible return value type (got "int", expected "str")  [return-value]
src/app.py:1:8: F401 `os` imported but unused
/usr/bin/ld: main.o: undefined reference to `total'
make: *** [Makefile:3: all] Error 2
make: *** No rule to make target 'x'.  Stop.
ERROR:  relation "users" does not exist
ERROR 1146 (42S02): Table 'shop.users' doesn't exist
Error: no such table: users
UNIQUE constraint failed: users.email
{"error": "unknown user"}
{"success": false, "reason": "no such room"}
{"stdout": "", "stderr": "boom", "exit_code": 1}
{"is_error": true, "content": "no"}
Exception in thread "main" java.lang.IllegalStateException: closed
Caused by: java.net.ConnectException: Connection refused
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test
TypeError: x is not a function
KeyboardInterrupt
An error occurred while reading the file
2024-05-01 10:22:31,123 ERROR shop.worker queue is gone
docker: Error response from daemon: pull access denied for shop, repository does not exist
Error response from daemon: No such container: shop
jq: error (at <stdin>:1): Cannot index array with string "a"
gcc: fatal error: no input files
""".strip().split("\n")
FAILED += """
파일을 찾을 수 없습니다: config.yml
cat: notes.txt: 그런 파일이나 디렉터리가 없습니다
빌드 실패: 3개의 오류
컴파일 오류가 발생했습니다 (12행)
bash: frobnicate: コマンドが見つかりません
エラー: 接続が拒否されました
ビルドに失敗しました
cat: notes.txt: 没有那个文件或目录
错误\uff1a找不到模块 numpy
构建失败
ls: Zugriff auf 'x' nicht möglich: Datei oder Verzeichnis nicht gefunden
Fehler: Port 5432 ist belegt
bash: frobnicate : commande introuvable
Erreur de syntaxe : fin de fichier
bash: frobnicate: orden no encontrada
Ошибка: порт занят
""".strip().split("\n")
FAILED += [
    " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'origin'"
]
FAILED += [report for group in ALIKE.values() for report in group]


FINE: list[str] = """
0 errors
no error
No errors found.
0 errors, 0 warnings
error handling added
Error handling was improved in src/app.py
Added error messages to the form
Tests: 5 passed, 0 failed
5 passed in 0.12s
12 passed, 1 xfailed, 2 warnings in 0.40s
Tests run: 5, Failures: 0, Errors: 0, Skipped: 0
test result: ok. 5 passed; 0 failed; 0 ignored
# fail 0
# pass 12
PASS src/error.test.js
ok  	example.com/shop/errors	0.004s
tests/test_errors.py .....                                               [100%]
tests/test_errors.py::test_failed_login PASSED [ 50%]
test tests::panics_on_error ... ok
error.log
errors.py  failures.py  panic.go
failed
-rw-r--r-- 1 ann ann 120 May  1 10:00 error.log
drwxr-xr-x 2 ann ann 4096 May  1 10:00 failed
    except ValueError:
    raise ValueError("no such table: users")
    return Err("permission denied".into());
        if (err.code === 'ENOENT') {
    logger.error("Failed to connect: %s", error)
    console.error("fatal: nothing to do");
    print("Error: permission denied")
    # Error: this happens when the file is missing
    // panic: never happens
throw new Error("no such user");
class NotFoundError(Exception):
assert "command not found" in output
grep -n "Traceback (most recent call last)" app.log
expect(message).toContain("permission denied")
Fixed 3 errors in src/app.py
Resolved: the build failed with exit code 1
a1b2c3d Fix login that failed on Safari
9f8e7d6 Handle "No such file or directory" in the loader
Found 1 error (1 fixed, 0 remaining).
All checks passed!
Success: no issues found in 12 source files
exit code 0
Process finished with exit code 0
Command exited with status 0
{"error": null, "result": 3}
{"errors": [], "ok": true}
{"success": true, "error": ""}
{"status": "ok", "exit_code": 0}
Error: None
error: null
Errors: 0
failed: 0
failed=0
ok=12 changed=3 unreachable=0 failed=0
Failures: none
[]
[(1, 'error'), (2, 'failed')]
[('permission denied', 3)]
Query OK, 1 row affected (0.01 sec)
0 rows
HTTP/1.1 200 OK
status: 200
Listening on port 404
The exception list has 12 entries
Exit status: 0
LOG_LEVEL=error
FAIL_FAST=true
max_errors: 5
--max-failures=3
error_rate 0.01
The error rate went down from 3% to 1%
If the request failed, it is sent again.
Retries when the connection timed out, up to 3 times.
Exits with code 1 if a file is missing.
The tests that failed before now pass.
No tests failed
Nothing failed.
warning: unused variable: `x`
app.py:12: DeprecationWarning: parse_old is going away
npm warn deprecated rimraf@3.0.2: no longer supported
+    raise TimeoutError("too slow")
-error: old text
On branch main, nothing to commit, working tree clean
You open the fridge 1. The fridge 1 is open. In it, you see a lettuce 2.
Nothing happens.
total 24
Compiling shop v0.1.0 (/home/ann/shop)
Successfully installed requests-2.31.0
Server started, no exceptions so far
ValueError and TypeError are both caught here
src/app.py:12:        raise ValueError("bad port")
src/app.py:40:    except OSError as error:
""".strip().split("\n")
FINE += """
오류 없음
오류: 0
빌드 실패를 수정했습니다
실패하면 다시 시도합니다
エラーはありません
失敗した場合は再試行します
没有错误
如果失败则重试
修复了构建失败
keine Fehler gefunden
Fehler: keine
Der Fehler ist behoben: Datei nicht gefunden
aucune erreur
Erreurs : 0
0 errores
""".strip().split("\n")
FINE += [
    "",
    "  \n\t",
    '''def load(path):
    """Read the settings.

    Raises:
        ValueError: If the file is empty.
        FileNotFoundError: If there is no file.
    """
    try:
        return parse(path.read_text())
    except ValueError as error:
        logger.error("Failed to parse %s: %s", path, error)
        raise SettingsError("error: cannot parse") from error
''',
    """     1\timport sys
     2\t
     3\tdef main():
     4\t    try:
     5\t        run()
     6\t    except KeyError:
     7\t        print("fatal: no such key")
     8\t        sys.exit(1)
""",
    """diff --git a/src/errors.py b/src/errors.py
@@ -1,3 +1,4 @@
-raise RuntimeError("failed to open")
+raise OSError("Permission denied")
+# Error: see the manual
""",
    """usage: tool [-h] [--fail-fast] [--errors FILE]

options:
  -h, --help       show this help message and exit
  --fail-fast      stop at the first failure
  --errors FILE    write errors to FILE
""",
    """commit 1a2b3c4d5e6f (HEAD -> main)
Author: Ann <ann@example.com>

    Errors: say what failed, and what to do about it
""",
    """| status | meaning |
|---|---|
| 404 | Not Found |
| 500 | Internal Server Error |
""",
    """name: test
on: [push]
env:
  FAIL_FAST: true
  ERROR_LOG: /tmp/error.log
""",
    """function save(order) {
  if (!order) throw new Error('no order');
  try {
    return put(order);
  } catch (error) {
    console.error(error);
    return { error: error.message };
  }
}
""",
]
