"""Reports of failures as programs print them, invented for this file.

`ALIKE` holds groups of reports of one and the same failure: another run, machine, user, shell or
surrounding. No two groups are the same failure. `FAILED` and `FINE` are what tools answered when
something failed, and when nothing did.
"""

from __future__ import annotations

ALIKE: dict[str, list[str]] = {}
# Lines of logs, by the same rules; not all of them are seen as failures.
LOGGED: dict[str, list[str]] = {}

# ---- logs

LOGGED["a block that cannot be read"] = [
    "081109 203615 148 WARN dfs.DataNode$DataXceiver: 10.250.19.102:50010:Got exception while serving "
    "blk_-1608999687919862906 to /10.250.14.224:",
    "081110 001523 12931 WARN dfs.DataNode: 10.251.30.85:50010:Got exception while serving "
    "blk_3888635850409849568 to /10.251.30.85:",
    "10.251.30.85:50010:Got exception while serving blk_38 to /10.251.30.85:",
]
LOGGED["a block that cannot be kept"] = [
    "17/06/09 20:10:40 WARN storage.MemoryStore: Not enough space to cache rdd_2_1 in memory!",
    "17/06/10 08:11:02 WARN storage.MemoryStore: Not enough space to cache rdd_16_38 in memory!",
    "WARN MemoryStore: Not enough space to cache rdd_0_0 in memory!",
]
LOGGED["a user who is none"] = [
    "Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186",
    "Dec  1 16:05:09 gate sshd[7]: Invalid user oracle from 10.0.0.7",
    "Invalid user test1 from 10.0.0.7",
]
LOGGED["a node that does not answer"] = [
    "- 1131566461 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 monitor[15]: cannot reach node-17, cmd: ping",
    "ECC 1131566999 2005.11.10 dn3 Nov 10 00:01:01 dn3/dn3 monitor: cannot reach node-4, cmd: ssh",
    "cannot reach node-112, cmd: rsh",
]
LOGGED["a state that is no good"] = [
    "[Sun Dec 04 04:47:44 2005] [error] mod_jk child workerEnv in error state 6",
    "[Mon Dec 05 19:15:57 2005] [error] mod_jk child workerEnv in error state 10",
    "mod_jk child workerEnv in error state 7",
]

# ---- Python

ALIKE["python: adds a number and a text"] = [
    """Traceback (most recent call last):
  File "/home/ann/shop/main.py", line 12, in <module>
    run()
  File "/home/ann/shop/cart.py", line 40, in run
    total = price + tax
            ~~~~~~^~~~~
TypeError: unsupported operand type(s) for +: 'int' and 'str'
""",
    r"""Traceback (most recent call last):
  File "C:\Users\bob\shop\main.py", line 7, in <module>
    run()
  File "C:\Users\bob\shop\cart.py", line 9, in run
    total = price + tax
TypeError: unsupported operand type(s) for +: 'float' and 'str'""",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    """2024-05-01 10:22:31,123 INFO starting worker 4
2024-05-01 10:22:31,456 ERROR unhandled
Traceback (most recent call last):
  File "/srv/app/cart.py", line 88, in total
    return a + b
TypeError: unsupported operand type(s) for +: 'int' and 'str'
2024-05-01 10:22:32,000 INFO worker 4 restarted""",
    """File "/app/x.py" loaded
Traceback (most recent call last):
File "/app/x.py", line 3, in total
return a + b
TypeError: unsupported operand type(s) for +: 'int' and 'str'
bye""",
    'Traceback (most recent call last): File "/app/x.py", line 3, in total return a + b '
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    r'"Traceback (most recent call last):\n  File \"/app/x.py\", line 3, in total\n    return a + '
    r"b\n"
    r"TypeError: unsupported operand type(s) for +: 'int' and 'str'\n",
    """web-1  | Traceback (most recent call last):
web-1  |   File "/srv/cart.py", line 88, in total
web-1  |     return a + b
web-1  | TypeError: unsupported operand type(s) for +: 'int' and 'str'
web-1  | exited""",
    """---------------------------------------------------------------------------
TypeError                                 Traceback (most recent call last)
Cell In[4], line 2
      1 price = 3
----> 2 price + "1"

TypeError: unsupported operand type(s) for +: 'int' and 'str'""",
]
ALIKE["python: a chain ends in settings that cannot be loaded"] = [
    """Traceback (most recent call last):
  File "/home/ann/app/settings.py", line 5, in load
    return values["port"]
           ~~~~~~^^^^^^^^
KeyError: 'port'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/ann/app/main.py", line 3, in <module>
    load({})
  File "/home/ann/app/settings.py", line 7, in load
    raise RuntimeError("cannot load settings")
RuntimeError: cannot load settings""",
    """Traceback (most recent call last):
  File "/opt/app/settings.py", line 15, in load
    return values["host"]
KeyError: 'host'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/app/main.py", line 30, in <module>
    load({})
RuntimeError: cannot load settings""",
    "RuntimeError: cannot load settings",
    """    def test_load():
>       load({})

tests/base/test_settings.py:9:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
values = {}

    def load(values):
        try:
>           return values["port"]
E           KeyError: 'port'

app/settings.py:5: KeyError

During handling of the above exception, another exception occurred:

    def test_load():
>       load({})
E       RuntimeError: cannot load settings

app/settings.py:7: RuntimeError""",
]
ALIKE["python: a missing key"] = [
    """Traceback (most recent call last):
  File "/home/ann/a.py", line 1, in <module>
    {}["colour"]
KeyError: 'colour'""",
    "KeyError: 'size'",
    'KeyError: "the user\'s name"',
    """E       KeyError: 'colour'""",
]
ALIKE["python: a bracket that is never closed"] = [
    """  File "/home/ann/a.py", line 3
    print(total(
         ^
SyntaxError: '(' was never closed""",
    """Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 198, in _run_module_as_main
    return _run_code(code, main_globals, None)
  File "/home/bob/b.py", line 77
    values = [1, 2
             ^
SyntaxError: '[' was never closed""",
    "SyntaxError: '{' was never closed",
]
ALIKE["python: a group of exceptions around a bad port"] = [
    """  + Exception Group Traceback (most recent call last):
  |   File "/home/ann/serve.py", line 9, in <module>
  |     asyncio.run(main())
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 190, in run
  |     return runner.run(main)
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/ann/serve.py", line 3, in first
    |     raise ValueError("port 80801 is out of range")
    | ValueError: port 80801 is out of range
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/ann/serve.py", line 4, in second
    |     raise TypeError("x")
    | TypeError: x
    +------------------------------------""",
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
ALIKE["python: two transactions wait for each other"] = [
    """Traceback (most recent call last):
  File "/srv/app/orders.py", line 210, in save
    cursor.execute(query)
psycopg.errors.DeadlockDetected: deadlock detected
DETAIL:  Process 4711 waits for ShareLock on transaction 8123; blocked by process 4712.
HINT:  See server log for query details.""",
    """Traceback (most recent call last):
  File "/home/ann/orders.py", line 9, in save
    cursor.execute(query)
psycopg.errors.DeadlockDetected: deadlock detected
DETAIL:  Process 99 waits for ShareLock on transaction 5; blocked by process 98.""",
    "psycopg.errors.DeadlockDetected: deadlock detected",
]
ALIKE["python: a warning that is an error by order"] = [
    """Traceback (most recent call last):
  File "/home/ann/d.py", line 2, in <module>
    warnings.warn("parse_old is going away in 3.0", DeprecationWarning)
DeprecationWarning: parse_old is going away in 3.0""",
    """Traceback (most recent call last):
  File "/srv/d.py", line 200, in <module>
    warnings.warn("parse_old is going away in 4.0", DeprecationWarning)
DeprecationWarning: parse_old is going away in 4.0""",
    "E       DeprecationWarning: parse_old is going away in 3.0",
]
ALIKE["python: a file that is not there"] = [
    """Traceback (most recent call last):
  File "/home/ann/a.py", line 1, in <module>
    open("/home/ann/data/prices.csv")
FileNotFoundError: [Errno 2] No such file or directory: '/home/ann/data/prices.csv'""",
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpab12cd34/x'",
    "ERROR:root:FileNotFoundError: [Errno 2] No such file or directory: 'prices.csv'",
]
ALIKE["python: a file that may not be read"] = [
    "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
    "PermissionError: [Errno 13] Permission denied: '/root/.ssh/id'",
    """Traceback (most recent call last):
  File "/home/ann/a.py", line 1, in <module>
    open("/root/x")
PermissionError: [Errno 13] Permission denied: '/root/x'""",
]
ALIKE["python: an age that is no number"] = [
    """Traceback (most recent call last):
  File "/home/ann/user.py", line 3, in <module>
    User(age="x")
  File "/home/ann/.venv/lib/python3.11/site-packages/pydantic/main.py", line 214, in __init__
    validated_self = self.__pydantic_validator__.validate_python(data, self_instance=self)
pydantic_core._pydantic_core.ValidationError: 1 validation error for User
age
  Input should be a valid integer [type=int_parsing, input_value='x', input_type=str]
    For further information visit https://errors.pydantic.dev/2.9/v/int_parsing""",
    """pydantic_core._pydantic_core.ValidationError: 1 validation error for User
age
  Input should be a valid integer [type=int_parsing, input_value='twelve', input_type=str]
    For further information visit https://errors.pydantic.dev/2.11/v/int_parsing""",
    """E   pydantic_core._pydantic_core.ValidationError: 1 validation error for User
E   age
E     Input should be a valid integer [type=int_parsing, input_value='?', input_type=str]""",
]
ALIKE["python: an assertion without a message"] = [
    """Traceback (most recent call last):
  File "/home/ann/check.py", line 8, in <module>
    assert balance == expected_balance
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError""",
    """Traceback (most recent call last):
  File "/srv/check.py", line 80, in <module>
    assert balance == expected_balance
AssertionError""",
    """INFO checking
Traceback (most recent call last):
  File "/srv/check.py", line 81, in <module>
    assert balance == expected_balance
AssertionError
INFO checked""",
]
ALIKE["python: another assertion without a message"] = [
    """Traceback (most recent call last):
  File "/home/ann/check.py", line 9, in <module>
    assert names
AssertionError""",
    """Traceback (most recent call last):
  File "/home/bob/check.py", line 19, in main
    assert names
           ^^^^^
AssertionError""",
    """  Traceback (most recent call last):
    File "/home/bob/check.py", line 20, in main
      assert names
  AssertionError""",
]

# ---- pytest

ALIKE["pytest: a sum that is wrong"] = [
    """============================= test session starts ==============================
collected 4 items

tests/test_cart.py ..F.                                                  [100%]

=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
========================= 1 failed, 3 passed in 0.12s ==========================""",
    """=================================== FAILURES ===================================
__________________________________ test_total __________________________________
tests/test_cart.py:30: in test_total
    assert total([5, 2]) == 8
E   assert 7 == 8
E    +  where 7 = total([5, 2])
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 7 == 8
1 failed in 0.09s""",
    """FAILED tests/test_cart.py::test_total - assert 3 == 4
1 failed, 12 passed in 1.02s""",
    """_______________________________ TestCart.test_total ______________________________
    def test_total(self):
>       assert total([1, 2]) == 4
E       AssertionError: assert 3 == 4

tests/test_cart.py:99: AssertionError""",
]
ALIKE["pytest: another test of two values"] = [
    """__________________________________ test_count __________________________________
>       assert count("a b") == 3
E       AssertionError: assert 2 == 3
tests/test_words.py:4: AssertionError""",
    "FAILED tests/test_words.py::test_count - AssertionError: assert 2 == 3",
    "FAILED tests/unit/test_words.py::TestWords::test_count[long text] - assert 12 == 13",
]
ALIKE["pytest: an attribute that is missing"] = [
    """__________________________________ test_login __________________________________
    def test_login(client):
>       client.sign_in("ann")
E       AttributeError: 'Client' object has no attribute 'sign_in'

tests/test_login.py:7: AttributeError
=========================== short test summary info ============================
FAILED tests/test_login.py::test_login - AttributeError: 'Client' object has no att...
========================= 1 failed in 0.03s ====================================""",
    "AttributeError: 'Session' object has no attribute 'sign_in'",
    """tests/test_login.py:70: in test_login
    client.sign_in("ann")
E   AttributeError: 'Client' object has no attribute 'log_in'
========================= 1 failed, 2 passed in 3.31s ==========================""",
    "/home/ann/shop/tests/test_login.py:7: AttributeError: 'Client' object has no attribute "
    "'sign_in'",
]
ALIKE["pytest: a fixture that nobody defined"] = [
    """_________________________ ERROR at setup of test_login _________________________
file /home/ann/shop/tests/test_login.py, line 3
  def test_login(clinet): pass
E       fixture 'clinet' not found
>       available fixtures: cache, capfd, client, tmp_path
/home/ann/shop/tests/test_login.py:3
=========================== short test summary info ============================
ERROR tests/test_login.py::test_login
=============================== 1 error in 0.02s ===============================""",
    "E       fixture 'databse' not found\n>       available fixtures: cache, database",
    "E   fixture 'clinet' not found",
]
ALIKE["pytest: a module that cannot be imported"] = [
    """==================================== ERRORS ====================================
_____________________ ERROR collecting tests/test_login.py _____________________
ImportError while importing test module '/home/ann/shop/tests/test_login.py'.
Hint: make sure your test modules/packages have valid Python names.
Traceback:
/usr/lib/python3.11/importlib/__init__.py:126: in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
tests/test_login.py:1: in <module>
    import shop.acounts
E   ModuleNotFoundError: No module named 'shop.acounts'
=========================== short test summary info ============================
ERROR tests/test_login.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!""",
    "ModuleNotFoundError: No module named 'requests'",
    """Traceback (most recent call last):
  File "/srv/a.py", line 1, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'""",
]
ALIKE["pytest: a message of its own"] = [
    """____________________________________ test_stock ___________________________________
>       assert stock() >= 0, "the stock must not be negative"
E       AssertionError: the stock must not be negative
E       assert -2 >= 0
tests/test_stock.py:5: AssertionError""",
    "AssertionError: the stock must not be negative",
    """Traceback (most recent call last):
  File "/srv/stock.py", line 31, in check
    assert stock() >= 0, "the stock must not be negative"
AssertionError: the stock must not be negative""",
]

# ---- Node and TypeScript

ALIKE["node: a property of undefined"] = [
    """/home/ann/shop/cart.js:12
    return user.name.first
                     ^

TypeError: Cannot read properties of undefined (reading 'first')
    at total (/home/ann/shop/cart.js:12:22)
    at Object.<anonymous> (/home/ann/shop/main.js:3:1)
    at Module._compile (node:internal/modules/cjs/loader:1376:14)

Node.js v20.11.0""",
    """TypeError: Cannot read properties of undefined (reading 'last')
    at total (C:\\Users\\bob\\shop\\cart.js:40:2)
    at async Promise.all (index 3)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)""",
    "Uncaught TypeError: Cannot read properties of undefined (reading 'first')",
    """(node:4711) UnhandledPromiseRejectionWarning: TypeError: Cannot read properties of undefined (reading 'x')
    at f (/srv/a.js:1:2)
(node:4711) UnhandledPromiseRejectionWarning: Unhandled promise rejection. (rejection id: 3)""",
    "TypeError: Cannot read properties of undefined (reading 'map')",
]
ALIKE["node: a refused connection"] = [
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
    "Error: connect ECONNREFUSED 10.0.0.7:5432",
    """TypeError: fetch failed
    at node:internal/deps/undici/undici:12618:11 {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5432
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16) {
    errno: -111,
    code: 'ECONNREFUSED'
  }
}""",
    "connect ECONNREFUSED ::1:5432",
]
ALIKE["node: another service refused"] = [
    "Error: connect ECONNREFUSED 10.0.0.7:6379",
    "connect ECONNREFUSED ::1:6379",
    """TypeError: fetch failed
    at node:internal/deps/undici/undici:12618:11 {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:6379
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16) {
    errno: -111,
    code: 'ECONNREFUSED'
  }
}""",
]
ALIKE["node: a code below the message"] = [
    """Error: upload stopped
    at put (/home/ann/up.js:4:9)
    at main (/home/ann/up.js:9:3) {
  code: 'EPIPE'
}""",
    """Error: upload stopped
    at put (/srv/up.js:40:19) {
  errno: -32,
  code: 'EPIPE',
  syscall: 'write'
}""",
    """starting upload
Error: upload stopped
    at put (/srv/up.js:44:19) {
  code: "EPIPE"
}
Node.js v22.1.0""",
]
ALIKE["node: another code below the same message"] = [
    """Error: upload stopped
    at put (/home/ann/up.js:4:9) {
  code: 'ENOSPC'
}""",
    """Error: upload stopped
    at put (/srv/up.js:41:9) {
  errno: -28,
  code: 'ENOSPC'
}""",
    """Error: upload stopped
    at async put (file:///srv/up.mjs:41:9) {
  code: 'ENOSPC'
}""",
]
ALIKE["node: a rejection with a reason"] = [
    """node:internal/process/promises:288
            triggerUncaughtException(err, true /* fromPromise */);
            ^

[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, \
or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "queue is full".] {
  code: 'ERR_UNHANDLED_REJECTION'
}""",
    """UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch \
block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "queue is full".
    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7) {
  code: 'ERR_UNHANDLED_REJECTION'
}""",
    "Error: queue is full",
]
ALIKE["node: a module that is missing"] = [
    """node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module 'left-pad'
Require stack:
- /home/ann/shop/main.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Object.<anonymous> (/home/ann/shop/main.js:1:1) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/home/ann/shop/main.js' ]
}""",
    "Error: Cannot find module 'express'",
    """Error: Cannot find module '/srv/app/dist/server.js'
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:81:12) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}""",
]
ALIKE["typescript: an argument of the wrong type"] = [
    "src/cart.ts(12,5): error TS2345: Argument of type 'string' is not assignable to parameter of "
    "type 'number'.",
    """src/cart.ts:120:17 - error TS2345: Argument of type 'Date' is not assignable to parameter of type 'number'.

120     total(order.date)
              ~~~~~~~~~~

Found 1 error in src/cart.ts:120""",
    """> shop@1.0.0 build
> tsc

/home/bob/shop/src/cart.ts(1,2): error TS2345: Argument of type 'string' is not assignable to parameter of type 'Money'.
npm ERR! code ELIFECYCLE
npm ERR! errno 2""",
]
ALIKE["typescript: a name that does not exist"] = [
    "src/cart.ts(3,1): error TS2304: Cannot find name 'totl'.",
    "src/main.ts:33:10 - error TS2304: Cannot find name 'prices'.",
    "error TS2304: Cannot find name 'x'.",
]
ALIKE["npm: a package that is not in the registry"] = [
    """npm ERR! code E404
npm ERR! 404 Not Found - GET https://registry.npmjs.org/left-padd - Not found
npm ERR! 404
npm ERR! 404  'left-padd@^1.0.0' is not in this registry.
npm ERR! A complete log of this run can be found in: /home/ann/.npm/_logs/2024-05-01T10_22_31_123Z-debug-0.log""",
    """npm error code E404
npm error 404 Not Found - GET https://npm.example.com/shop-ui - Not found
npm error 404
npm error A complete log of this run can be found in: /root/.npm/_logs/2025-01-01T00_00_00_000Z-debug-0.log""",
    """npm warn deprecated rimraf@3.0.2: old
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/x - Not found""",
]
ALIKE["npm: dependencies that contradict each other"] = [
    """npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR!
npm ERR! While resolving: shop@1.0.0
npm ERR! Found: react@18.2.0""",
    """npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error
npm error While resolving: site@0.3.1""",
    """npm WARN old lockfile
npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree""",
]
ALIKE["jest: a price that differs"] = [
    """FAIL src/cart.test.js
  ● cart \u203a adds the tax

    expect(received).toBe(expected) // Object.is equality

    Expected: 119
    Received: 100

      3 | test("adds the tax", () => {
    > 4 |   expect(total(100)).toBe(119)
        |                      ^
      at Object.<anonymous> (src/cart.test.js:4:22)

Tests:       1 failed, 3 passed, 4 total""",
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

# ---- Go

ALIKE["go: an index out of range"] = [
    """panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.pick(...)
	/home/ann/shop/main.go:12
main.main()
	/home/ann/shop/main.go:20 +0x1d
exit status 2""",
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
    """2024/05/01 10:00:00 listening on :8080
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x6b1c2f]

goroutine 88 [running]:
net/http.(*conn).serve.func1()
	/usr/local/go/src/net/http/server.go:1883 +0xbe""",
    "panic: runtime error: invalid memory address or nil pointer dereference",
]
ALIKE["go: a name that is not defined"] = [
    "./main.go:12:5: undefined: foo",
    """# example.com/shop
./cart.go:120:15: undefined: foo
./cart.go:121:2: undefined: bar""",
    """go: downloading golang.org/x/text v0.14.0
# example.com/shop/internal
internal/cart.go:3:9: undefined: foo
FAIL	example.com/shop/internal [build failed]
FAIL""",
]
ALIKE["go: another name that is not defined"] = [
    "./main.go:12:5: undefined: parsePrice",
    "# shop\n./a.go:1:1: undefined: parsePrice",
    "vet: ./b.go:33:10: undefined: parsePrice",
]
ALIKE["go: a test of the sum"] = [
    """--- FAIL: TestTotal (0.00s)
    cart_test.go:8: Total(1, 2) = 4, want 3
FAIL
exit status 1
FAIL	example.com/shop	0.002s""",
    """=== RUN   TestTotal
    cart_test.go:18: Total(5, 6) = 12, want 11
--- FAIL: TestTotal (0.03s)
FAIL
FAIL	example.com/shop	1.302s""",
    """ok  	example.com/shop/a	0.1s
--- FAIL: TestTotal (1.20s)
    cart_test.go:80: Total(1, 2) = 5, want 3
FAIL""",
]
ALIKE["go: every goroutine waits"] = [
    """fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/home/ann/main.go:5 +0x2d
exit status 2""",
    """fatal error: all goroutines are asleep - deadlock!

goroutine 18 [select (no cases)]:
main.wait()
	/srv/main.go:50 +0x3d""",
    "fatal error: all goroutines are asleep - deadlock!",
]

# ---- Rust

ALIKE["rust: a value that was moved"] = [
    """   Compiling shop v0.1.0 (/home/ann/shop)
error[E0382]: borrow of moved value: `prices`
 --> src/main.rs:4:20
  |
2 |     let prices = vec![1];
  |         ------ move occurs because `prices` has type `Vec<i32>`
4 |     println!("{:?}", prices);
  |                      ^^^^^^ value borrowed here after move

For more information about this error, try `rustc --explain E0382`.
error: could not compile `shop` (bin "shop") due to 1 previous error""",
    """error[E0382]: borrow of moved value: `names`
   --> crates/core/src/lib.rs:412:9""",
    """warning: unused variable: `x`
 --> src/main.rs:1:9

error[E0382]: borrow of moved value: `v`
 --> src/main.rs:40:2
error[E0308]: mismatched types
 --> src/main.rs:44:2""",
]
ALIKE["rust: types that differ"] = [
    """error[E0308]: mismatched types
 --> src/main.rs:2:18
  |
2 |     let n: i32 = "a";
  |            ---   ^^^ expected `i32`, found `&str`""",
    "error[E0308]: mismatched types\n  --> src/bin/x.rs:120:1",
    "    Checking shop v0.2.0 (/srv/shop)\nerror[E0308]: mismatched types\n   --> src/lib.rs:9:5",
]
ALIKE["rust: an index out of bounds"] = [
    """thread 'main' panicked at src/main.rs:5:10:
index out of bounds: the len is 3 but the index is 5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace""",
    """thread 'main' panicked at 'index out of bounds: the len is 8 but the index is 9', src/main.rs:50:19
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace""",
    """thread 'worker-3' (28816) panicked at /home/bob/shop/src/lib.rs:105:1:
index out of bounds: the len is 0 but the index is 0
stack backtrace:
   0: rust_begin_unwind
             at /rustc/82e1608dfa6e0b5569232559e3d385fea5a93112/library/std/src/panicking.rs:645:5""",
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
ALIKE["rust: a file that may not be opened"] = [
    """thread 'main' panicked at src/main.rs:3:38:
called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: PermissionDenied, message: "Permission denied" }""",
    "thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: "
    "PermissionDenied, message: "
    '"Permission denied" }\', src/a.rs:3:8',
    """thread 'main' panicked at src/b.rs:1:1:
called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: PermissionDenied, message: "Permission denied" }""",
]
ALIKE["rust: a test of the sum"] = [
    """running 2 tests
test tests::adds ... FAILED
test tests::splits ... ok

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: -1
 right: 3

failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s""",
    """thread 'tests::adds' panicked at 'assertion failed: `(left == right)`
  left: `4`,
 right: `5`', src/lib.rs:7:9""",
    """thread 'tests::adds' panicked at crates/sum/src/lib.rs:120:9:
assertion `left == right` failed
  left: 40
 right: 3""",
]
ALIKE["rust: a cause below the message"] = [
    """Error: cannot read the settings

Caused by:
    No such file or directory (os error 2)""",
    """INFO starting
Error: cannot read the settings

Caused by:
    0: while opening settings.toml
    1: No such file or directory (os error 2)""",
    """Error: cannot read the settings

Caused by:
    No such file or directory (os error 2)

Stack backtrace:
   0: anyhow::error::<impl anyhow::Error>::msg""",
]

# ---- Java

ALIKE["java: nothing where a text should be"] = [
    """Exception in thread "main" java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null
	at com.shop.Cart.total(Cart.java:12)
	at com.shop.Main.main(Main.java:5)""",
    """Exception in thread "pool-1-thread-7" java.lang.NullPointerException: Cannot invoke "String.trim()" because "n" is null
	at com.shop.Cart.total(Cart.java:120)
	at java.base/java.lang.Thread.run(Thread.java:833)""",
    'java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null',
    """2024-05-01 10:00:00.123 ERROR 4711 --- [nio-8080-exec-3] c.s.CartController : request failed
java.lang.RuntimeException: cannot show the cart
	at com.shop.CartController.show(CartController.java:31)
	... 40 more
Caused by: java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null
	at com.shop.Cart.total(Cart.java:12)
	... 52 common frames omitted""",
]
ALIKE["java: a refused connection at the root"] = [
    """Exception in thread "main" java.lang.RuntimeException: cannot start
	at com.shop.Main.main(Main.java:9)
Caused by: org.postgresql.util.PSQLException: Connection to localhost:5432 refused.
	at org.postgresql.core.v3.ConnectionFactoryImpl.openConnectionImpl(ConnectionFactoryImpl.java:342)
	... 1 more
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.pollConnect(Native Method)
	... 14 more""",
    """java.lang.IllegalStateException: Failed to load ApplicationContext
	at org.springframework.test.context.cache.DefaultCache.load(DefaultCache.java:98)
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.pollConnect(Native Method)
	... 90 more""",
    "Caused by: java.net.ConnectException: Connection refused",
]
ALIKE["java: an index out of bounds"] = [
    """Exception in thread "main" java.lang.ArrayIndexOutOfBoundsException: Index 5 out of bounds for length 3
	at Main.main(Main.java:4)""",
    "java.lang.ArrayIndexOutOfBoundsException: Index 17 out of bounds for length 17",
    """May 01, 2024 10:00:00 AM com.shop.Main main
SEVERE: could not run
java.lang.ArrayIndexOutOfBoundsException: Index 0 out of bounds for length 0
	at com.shop.Main.run(Main.java:44)""",
]
ALIKE["java: a symbol that is not there"] = [
    """Cart.java:10: error: cannot find symbol
        totl(3);
        ^
  symbol:   method totl(int)
  location: class Cart
1 error""",
    """[INFO] Compiling 12 source files to /home/ann/shop/target/classes
[ERROR] COMPILATION ERROR :
[ERROR] /home/ann/shop/src/main/java/com/shop/Cart.java:[101,9] cannot find symbol
[ERROR]   symbol:   method totl(int)
[ERROR]   location: class com.shop.Cart
[INFO] BUILD FAILURE
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile (default-compile)""",
    """src/main/java/Cart.java:77: error: cannot find symbol
    totl(1);
    ^
  symbol: method totl(int)""",
]
ALIKE["java: another symbol that is not there"] = [
    """Cart.java:10: error: cannot find symbol
  symbol:   class Mony
  location: class Cart""",
    """[ERROR] /srv/shop/src/Cart.java:[1,9] cannot find symbol
[ERROR]   symbol:   class Mony
[ERROR]   location: package com.shop""",
    "/srv/A.java:9: error: cannot find symbol\n  symbol:   class Mony",
]
ALIKE["java: a test of the sum"] = [
    """org.opentest4j.AssertionFailedError: expected: <3> but was: <4>
	at org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
	at com.shop.CartTest.addsTax(CartTest.java:20)""",
    """[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE!
[ERROR] com.shop.CartTest.addsTax  Time elapsed: 0.01 s  <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <119> but was: <100>
	at com.shop.CartTest.addsTax(CartTest.java:31)""",
    """org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
	at org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)
	at com.shop.CartTest.addsTax(CartTest.java:9)
	at java.base/java.lang.reflect.Method.invoke(Method.java:580)""",
]

# ---- shells and tools

ALIKE["shell: a command that is not installed"] = [
    "bash: frobnicate: command not found",
    "-bash: frobnicate: command not found",
    "bash: line 1: frobnicate: command not found",
    "zsh: command not found: frobnicate",
    "sh: 1: frobnicate: not found",
    "/bin/sh: frobnicate: not found",
    "./build.sh: line 12: frobnicate: command not found",
    "sh: frobnicate: command not found\nmake: *** [Makefile:3: all] Error 127",
    "(eval):1: command not found: frobnicate",
]
ALIKE["shell: another command that is not installed"] = [
    "bash: jq: command not found",
    "zsh: command not found: jq",
    "/bin/sh: 1: jq: not found",
]
ALIKE["shell: a file that is not there"] = [
    "cat: notes.txt: No such file or directory",
    "cat: /home/ann/notes.txt: No such file or directory",
    "cat: /home/bob/todo/notes.txt: No such file or directory",
    "cat: ../notes.txt: No such file or directory\n",
]
ALIKE["shell: another file that is not there"] = [
    "cat: plan.md: No such file or directory",
    "cat: /srv/docs/plan.md: No such file or directory",
    "\x1b[31mcat: ./plan.md: No such file or directory\x1b[0m",
]
ALIKE["shell: a directory that may not be made"] = [
    "mkdir: cannot create directory '/opt/shop': Permission denied",
    "mkdir: cannot create directory \u2018/usr/local/x\u2019: Permission denied",
    "+ mkdir /opt/shop\nmkdir: cannot create directory `/opt/shop': Permission denied\n+ exit 1",
]
ALIKE["shell: a script that may not be run"] = [
    "bash: ./deploy.sh: Permission denied",
    "bash: line 3: ./deploy.sh: Permission denied",
    "sh: 1: ./deploy.sh: Permission denied",
    "zsh: permission denied: ./deploy.sh",
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
ALIKE["make: another target that failed"] = [
    "make: *** [Makefile:12: docs] Error 2",
    "gmake: *** [docs] Error 2",
    "building docs\nmake: *** [Makefile:120: docs] Error 2",
]
ALIKE["make: the same target with another code"] = [
    "make: *** [Makefile:12: wheel] Error 1",
    "make: *** [wheel] Error 1",
    "make[2]: *** [Makefile:13: wheel] Error 1",
]
# What runs programs, and says of one that failed only that it did.
RUNNERS = [
    "{}\nmake: *** [Makefile:2: deploy] Error 2",
    "deploying\n./{}\nmake[1]: *** [Makefile:9: deploy] Error 2\n"
    "make[1]: Leaving directory '/srv/shop'\nmake: *** [Makefile:3: all] Error 2",
    "> shop@1.0.0 deploy\n> ./deploy.sh\n\n{}\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 2\n"
    "npm ERR! shop@1.0.0 deploy: `./deploy.sh`\nnpm ERR! Exit status 2\nnpm ERR! \n"
    "npm ERR! Failed at the shop@1.0.0 deploy script.\nnpm ERR! This is probably not a problem with "
    "npm. There is likely additional logging output above.\n\nnpm ERR! A complete log of this run "
    "can be found in:\nnpm ERR!     /home/ann/.npm/_logs/2024-05-01T10_00_00_000Z-debug.log",
    "{}\nnpm error Lifecycle script `deploy` failed with error:\nnpm error code 2\n"
    "npm error path /srv/shop\nnpm error workspace shop@1.0.0\nnpm error location /srv/shop\n"
    "npm error command failed\nnpm error command sh -c ./deploy.sh",
    "yarn run v1.22.19\n$ ./deploy.sh\n{}\nerror Command failed with exit code 2.\n"
    "info Visit https://yarnpkg.com/en/docs/cli/run for documentation about this command.",
    "> ./deploy.sh\n\n{}\n\u2009ELIFECYCLE\u2009 Command failed with exit code 2.",
    "     Running `target/debug/shop`\n{}\n"
    "error: process didn't exit successfully: `target/debug/shop` (exit status: 2)",
    "py39 run-test: commands[0] | ./deploy.sh\n{}\nERROR: InvocationError for command "
    "/srv/shop/deploy.sh (exited with code 2)\n____ summary ____\nERROR:   py39: commands failed",
    "deploy: commands[0]> ./deploy.sh\n{}\ndeploy: exit 2 (0.01 seconds) /srv/shop> ./deploy.sh "
    "pid=4242\n  deploy: FAIL code 2 (0.05=setup[0.04]+cmd[0.01] seconds)\n"
    "  evaluation failed :( (0.10 seconds)",
    "nox > Running session deploy\nnox > ./deploy.sh\n{}\n"
    "nox > Command ./deploy.sh failed with exit code 2\nnox > Session deploy failed.",
    "> Task :deploy FAILED\n{}\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\n"
    "Execution failed for task ':deploy'.\n> Process 'command './deploy.sh'' finished with non-zero "
    "exit value 2\n\n* Try:\n> Run with --stacktrace option to get the stack trace.\n\n"
    "BUILD FAILED in 1s",
    "[INFO] --- exec-maven-plugin:3.1.0:exec (default-cli) @ shop ---\n{}\n[ERROR] Command execution "
    "failed.\norg.apache.commons.exec.ExecuteException: Process exited with an error: 2 (Exit value: "
    "2)\n    at org.apache.commons.exec.DefaultExecutor.execute (DefaultExecutor.java:166)\n"
    "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.codehaus.mojo:exec-maven-plugin:3.1.0:"
    "exec (default-cli) on project shop: Command execution failed.: Process exited with an error: 2",
    "ERROR: /srv/shop/BUILD:9:8: Executing genrule //shop:deploy failed: (Exit 2): bash failed: error "
    "executing command (from target //shop:deploy) /bin/bash -c ... (remaining 1 argument skipped)\n"
    "{}\nTarget //shop:deploy failed to build\nUse --verbose_failures to see the command lines of "
    "failed build steps.\nERROR: Build did NOT complete successfully",
    "[1/1] Deploying\nFAILED: deployed \n./deploy.sh\n{}\nninja: build stopped: subcommand failed.",
    "deploy:\n     [exec] {}\n\nBUILD FAILED\n/srv/shop/build.xml:5: exec returned: 2\n",
    "Step 4/5 : RUN ./deploy.sh\n{}\n"
    "The command '/bin/sh -c ./deploy.sh' returned a non-zero code: 2",
    "Run ./deploy.sh\n{}\nError: Process completed with exit code 2.",
    "{}\nTraceback (most recent call last):\n"
    '  File "run.py", line 3, in <module>\n    subprocess.run(["./deploy.sh"], check=True)\n'
    "subprocess.CalledProcessError: Command '['./deploy.sh']' returned non-zero exit status 2.",
    'TASK [deploy] ***\nfatal: [web1]: FAILED! => {{"changed": true, "cmd": "./deploy.sh", "msg": '
    '"non-zero return code", "rc": 2, "stderr": "{}", "stdout": ""}}',
]
for said in ("STAGING_HOST is not set", "no key for the registry"):
    ALIKE[f"run by another: {said}"] = [each.format(f"deploy.sh: {said}") for each in RUNNERS]
ALIKE["kotlin: a name that nobody defined"] = [
    "e: file:///srv/shop/src/Main.kt:3:13 Unresolved reference: total\n\n* What went wrong:\n"
    "Execution failed for task ':compileKotlin'.\n> A failure occurred while executing "
    "org.jetbrains.kotlin.Worker\n   > Compilation error. See log for more details",
    "e: /home/ann/shop/Cart.kt: (30, 1): Unresolved reference: total",
    "w: unused variable\ne: file:///srv/Main.kt:7:1 Unresolved reference: total",
]
ALIKE["scala: a name that nobody defined"] = [
    "[error] /srv/shop/Shop.scala:3:13: not found: value total\n[error]     println(total)\n"
    "[error] one error found\n[error] (Compile / compileIncremental) Compilation failed",
    "[error] /home/ann/Cart.scala:30:1: not found: value total",
    "[info] compiling\n[error] Shop.scala:4:13: not found: value total\n[error] Total time: 2 s",
]
ALIKE["cargo: a library that the linker does not find"] = [
    'error: linking with `cc` failed: exit status: 1\n  |\n  = note: "cc" "-m64"\n  = note: '
    "/usr/bin/ld: cannot find -lpq: No such file or directory\n\n"
    'error: could not compile `shop` (bin "shop") due to 1 previous error',
    "error: linking with `cc` failed: exit status: 1\n  = note: /usr/bin/ld: cannot find -lpq: No "
    "such file or directory",
    "   Compiling cart v0.2.0\nerror: linking with `clang` failed: exit status: 1\n  = note: "
    "/usr/local/bin/ld: cannot find -lpq: No such file or directory\n"
    "error: could not compile `cart` (lib) due to 1 previous error",
]
ALIKE["git: no repository"] = [
    "fatal: not a git repository (or any of the parent directories): .git",
    "$ git status\nfatal: not a git repository (or any of the parent directories): .git",
    "\x1b[1;31mfatal:\x1b[0m not a git repository (or any of the parent directories): .git\r\n",
]
ALIKE["c: a name that was not declared"] = [
    """main.c: In function 'main':
main.c:5:10: error: 'total' undeclared (first use in this function)
    5 |   return total;
      |          ^~~~~""",
    "/home/ann/x/cart.c:50:1: error: \u2018price\u2019 undeclared (first use in this function)",
    "src/a.c:1:2: error: `x' undeclared (first use in this function)\nmake: *** [a.o] Error 1",
]
ALIKE["c++: an index out of range"] = [
    """terminate called after throwing an instance of 'std::out_of_range'
  what():  vector::_M_range_check: __n (which is 5) >= this->size() (which is 3)
Aborted (core dumped)""",
    """terminate called after throwing an instance of 'std::out_of_range'
  what():  vector::_M_range_check: __n (which is 17) >= this->size() (which is 17)""",
    """loading
terminate called after throwing an instance of 'std::out_of_range'
  what():  vector::_M_range_check: __n (which is 1) >= this->size() (which is 0)
./run.sh: line 4: 28816 Aborted                 (core dumped) ./shop""",
]
ALIKE["ruby: a method of nil"] = [
    "cart.rb:3:in `total': undefined method `price' for nil:NilClass (NoMethodError)",
    "/home/ann/shop/cart.rb:30:in `total': undefined method `name' for nil:NilClass (NoMethodError)",
    "cart.rb:4:in `sum': undefined method `price' for nil:NilClass (NoMethodError)\n\tfrom "
    "main.rb:9:in `<main>'",
]
ALIKE["gradle: a task that failed"] = [
    """FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':shop:test'.
> There were failing tests. See the report at: file:///home/ann/shop/build/reports/tests/test/index.html

* Try:
> Run with --stacktrace option to get the stack trace.""",
    """> Task :shop:test FAILED

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':shop:test'.
> There were failing tests. See the report at: file:///srv/build/index.html

BUILD FAILED in 12s""",
    """* What went wrong:
Execution failed for task ':cart:test'.
> There were failing tests. See the report at: file:///tmp/x/index.html""",
]
ALIKE["system: a crash"] = [
    "Segmentation fault (core dumped)",
    "./run.sh: line 3: 28816 Segmentation fault      (core dumped) ./shop --port 80",
    "zsh: segmentation fault (core dumped)  ./shop",
    "bash: line 1:  4711 Segmentation fault      ./shop",
]

# ---- SQL

ALIKE["postgres: a table that is not there"] = [
    """ERROR:  relation "users" does not exist
LINE 1: SELECT * FROM users;
                      ^""",
    """psql:/home/ann/report.sql:3: ERROR:  relation "orders" does not exist
LINE 1: SELECT id FROM orders WHERE id = 5;
                       ^""",
    """2024-05-01 10:22:31.123 UTC [4711] ERROR:  relation "shop.users" does not exist at character 15
2024-05-01 10:22:31.123 UTC [4711] STATEMENT:  SELECT * FROM shop.users;""",
    'ERROR: relation "u" does not exist',
]
ALIKE["postgres: a key that is taken"] = [
    """ERROR:  duplicate key value violates unique constraint "users_email_key"
DETAIL:  Key (email)=(ann@example.com) already exists.""",
    'psql:x.sql:90: ERROR:  duplicate key value violates unique constraint "orders_pkey"',
    'ERROR: duplicate key value violates unique constraint "users_name_key"',
]
ALIKE["postgres: a wrong password"] = [
    'FATAL:  password authentication failed for user "ann"',
    '2024-05-01 10:22:31.123 UTC [99] FATAL:  password authentication failed for user "bob"',
    'FATAL: password authentication failed for user "shop"',
]
ALIKE["mysql: a table that is not there"] = [
    "ERROR 1146 (42S02): Table 'shop.users' doesn't exist",
    "ERROR 1146 (42S02) at line 3: Table 'test.orders' doesn't exist",
    "mysql: [Warning] Using a password on the command line interface can be insecure.\n"
    "ERROR 1146 (42S02) at line 30: Table 'shop.u' doesn't exist",
]
ALIKE["mysql: a column that is not there"] = [
    "ERROR 1054 (42S22): Unknown column 'age' in 'field list'",
    "ERROR 1054 (42S22) at line 12: Unknown column 'size' in 'where clause'",
    "ERROR 1054 (42S22): Unknown column 'u.name' in 'order clause'",
]
ALIKE["mysql: a query that an agent made"] = [
    "Error executing query: Unknown column 'height' in 'field list'",
    "Error executing query: Unknown column 'p.weight' in 'on clause'",
    "\tError executing query: Unknown column 'T1.age' in 'order clause'\n",
]
ALIKE["mysql: a statement that is no SQL"] = [
    "Error executing query: You have an error in your SQL syntax; check the manual that "
    "corresponds to your MySQL server "
    "version for the right syntax to use near 'FORM users' at line 1",
    "Error executing query: You have an error in your SQL syntax; check the manual that "
    "corresponds to your MySQL server "
    "version for the right syntax to use near 'it's name = 'x' LIMIT' at line 12",
    "Error executing query: You have an error in your SQL syntax; check the manual that "
    "corresponds to your MySQL server "
    "version for the right syntax to use near 'TO users\nWHERE id = 3' at line 2",
]
ALIKE["sqlite: a table that is not there"] = [
    "Error: no such table: users",
    "Error: in prepare, no such table: users",
    "Parse error near line 1: no such table: users\n  SELECT * FROM users;\n                ^--- "
    "error here",
    "no such table: users",
]
ALIKE["sqlite: another table that is not there"] = [
    "Error: no such table: orders",
    "Parse error near line 12: no such table: orders",
    "no such table: orders",
]
ALIKE["sqlite: the same from Python"] = [
    "sqlite3.OperationalError: no such table: users",
    """Traceback (most recent call last):
  File "/home/ann/q.py", line 4, in <module>
    db.execute("SELECT * FROM users")
sqlite3.OperationalError: no such table: users""",
    "E       sqlite3.OperationalError: no such table: users",
]
ALIKE["sql: a state in brackets"] = [
    "SQLSTATE[42S02]: Base table or view not found: 1146 Table 'shop.users' doesn't exist",
    "SQLSTATE[42S02]: Base table or view not found: 1146 Table 'shop.orders' doesn't exist",
    "PHP log\nSQLSTATE[42S02]: Base table or view not found: 1146 Table 'x' doesn't exist",
]
ALIKE["sql: another state in brackets"] = [
    "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '5' for key 'PRIMARY'",
    "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry 'ann' for key 'name'",
    "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '7-8' for key 'pair'",
]
ALIKE["oracle: a table that is not there"] = [
    "ORA-00942: table or view does not exist",
    "SELECT * FROM users\n              *\nERROR at line 1:\nORA-00942: table or view does not "
    "exist",
    "ORA-00942: table or view does not exist\n",
]
ALIKE["oracle: a name that is not valid"] = [
    "ORA-00904: invalid identifier",
    "\nORA-00904: invalid identifier\nHelp: see the manual",
    "  ORA-00904: invalid identifier",
]

# ---- the web, JSON and logs

ALIKE["http: not found"] = [
    "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: "
    "https://api.example.com/v1/users/17",
    "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: "
    "http://localhost:8080/x?y=1",
    """Traceback (most recent call last):
  File "/srv/get.py", line 3, in <module>
    r.raise_for_status()
requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://api.example.com/v2""",
]
ALIKE["http: not allowed"] = [
    "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: "
    "https://api.example.com/v1/users/17",
    "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: "
    "https://api.example.com/v1/orders",
    "E       requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: "
    "https://x.example.com/",
]
ALIKE["http: a status alone"] = [
    "HTTP/1.1 503 Service Unavailable",
    "HTTP/2 503 Service Unavailable",
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/html\r\ndate: Wed, 01 May 2024 "
    "10:00:00 GMT",
]
ALIKE["json: a model that does not exist"] = [
    '{"error": {"message": "The model does not exist", "type": "invalid_request_error", "code": '
    '"model_not_found"}}',
    """{
  "error": {
    "code": "model_not_found",
    "message": "The model does not exist",
    "request": "req_8f2kd93kd"
  }
}""",
    "{'error': {'message': 'The model does not exist', 'code': 'model_not_found'}}",
]
ALIKE["json: what a tool wrote on its second output"] = [
    '{"stdout": "", "stderr": "ls: cannot access \'x\': No such file or directory", "exit_code": 2}',
    "ls: cannot access 'y/z': No such file or directory",
    '{"exit_code": 2, "stderr": "ls: cannot access \'/home/ann/q\': No such file or directory\\n"}',
]
ALIKE["log: a database that does not answer"] = [
    'time="2024-05-01T10:22:31Z" level=error msg="cannot save" err="dial tcp 10.0.0.7:5432: i/o '
    'timeout"',
    'time="2025-11-30T23:59:59Z" level=error msg="cannot save" id=17 err="dial tcp 10.0.0.8:5432: '
    'i/o timeout"',
    'level=info msg="hello"\nlevel=error msg="cannot save" err="dial tcp 127.0.0.1:1: i/o timeout"',
]
ALIKE["log: a queue that is gone"] = [
    "2024-05-01 10:22:31,123 - shop.worker - ERROR - queue mail is gone after 30s",
    "2025-01-31 00:00:00,999 - shop.worker - ERROR - queue mail is gone after 2.5s",
    "ERROR:shop.worker:queue mail is gone after 7s",
    "[2024-05-01 10:22:31] [ERROR] [pid 4711] queue mail is gone after 30s",
    "May 01 10:22:31 INFO ready\nMay 01 10:22:32 ERROR queue mail is gone after 1m30s",
]
ALIKE["log: ids in the message"] = [
    "Error: job 3f2b8c1e-9d4a-4c7b-8e21-0a5d6f7b8c9d lost its lease (request id: 7d1c9a, worker 12 "
    "at 0x7f3a9c0021b0)",
    "Error: job 00000000-0000-4000-8000-000000000001 lost its lease (request id: ab12cd, worker 3 "
    "at 0x55d0)",
    "Error: job 9b2d7c44e1f05a3389aa lost its lease (request id: 99ff00, worker 1 at 0xdeadbeef00)",
]
ALIKE["log: an error of Windows"] = [
    "Error: cannot install the service (0x80070005)",
    "2024-05-01 10:22:31 ERROR cannot install the service (0x80070005)",
    "ERROR: cannot install the service (0x80070005)",
]
ALIKE["log: another error of Windows"] = [
    "Error: cannot install the service (0x80070002)",
    "[ERROR] cannot install the service (0x80070002)",
    "Error: cannot install the service (0x80070002).",
]

# ---- what tools answer when something failed

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
  lint: FAIL code 1 (0.05=setup[0.04]+cmd[0.01] seconds)
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
# fail 2
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
cat: x.txt: No such file or directory
rm: cannot remove 'x': Is a directory
curl: (7) Failed to connect to localhost port 8080: Connection refused
ssh: connect to host example.com port 22: Connection timed out
E: Unable to locate package foo
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
no such column: name
(1146, "Table 'shop.users' doesn't exist")
UNIQUE constraint failed: users.email
SQLSTATE[42S02]: Base table or view not found
ORA-00942: table or view does not exist
HTTP/1.1 500 Internal Server Error
Request failed with status code 404
404 Not Found
{"error": "unknown user"}
{"success": false, "reason": "no such room"}
{"status": "error", "data": null}
{"stdout": "", "stderr": "boom", "exit_code": 1}
{"is_error": true, "content": "no"}
Exception in thread "main" java.lang.IllegalStateException: closed
Caused by: java.net.ConnectException: Connection refused
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test
[INFO] BUILD FAILURE
TypeError: x is not a function
KeyboardInterrupt
requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='x', port=443): Read timed out.
psycopg.errors.UniqueViolation: duplicate key value violates unique constraint
thread 'main' panicked at src/main.rs:5:10:
An error occurred while reading the file
Unhandled exception in worker 3
The command timed out after 120 seconds
Could not connect to the server
ls: cannot access 'x': No such file or directory
cp: missing file operand
python: can't open file '/srv/x.py': [Errno 2] No such file or directory
/usr/bin/python: No module named shop
'foo' is not recognized as an internal or external command
Invalid action: open the fridge 1
Failed to fetch the page: the host is down
Build failed.
Login failed
2024-05-01 10:22:31,123 ERROR shop.worker queue is gone
time="2024-05-01T10:22:31Z" level=error msg="cannot save"
Found 3 errors in 1 file (checked 12 source files)
12 problems (3 errors, 9 warnings)
No SQL code was found in your last response.
docker: Error response from daemon: pull access denied for shop, repository does not exist
Error response from daemon: No such container: shop
The connection to the server localhost:8080 was refused - did you specify the right host or port?
jq: error (at <stdin>:1): Cannot index array with string "a"
sed: -e expression #1, char 5: unterminated `s' command
tar: Exiting with failure status due to previous errors
gcc: fatal error: no input files
ld: library not found for -lfoo
CMake Error at CMakeLists.txt:3 (find_package):
rsync error: some files could not be transferred (code 23)
git: 'foo' is not a git command. See 'git --help'.
Tool call error: missing field "path"
<error>no such tool</error>
The file /srv/x.py does not exist.
File not found: x.py
Access is denied.
connect ECONNREFUSED 127.0.0.1:6379
ERR_PNPM_NO_MATCHING_VERSION  No matching version found for x
docker: permission denied while trying to connect to the Docker daemon socket
ansible: ok=3 changed=1 failed=1
    at Object.<anonymous> (/srv/app/main.js:3:1)
""".strip().split("\n")
FAILED += [
    "src/cart.js\n  12:5  error  'total' is not defined  no-undef\n",
    "\u2577\n\u2502 Error: Unsupported argument\n\u2502 \n\u2502   on main.tf line 3\n",
    "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts and then "
    "commit the result.",
    "thread 'main' has overflowed its stack\nfatal runtime error: stack overflow",
    "ERROR in ./src/index.js\nModule not found: Error: Can't resolve './x' in '/srv/shop/src'",
]
FAILED += [report for group in ALIKE.values() for report in group]
FAILED += [
    " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'origin'"
]
FAILED = list(dict.fromkeys(FAILED))

# ---- what tools answer when nothing failed

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
