"""Failures: does one hash mean one message?

    python benchmarks/failures.py [--lines 2000] [--seeds 5] [--messages] [--show SYSTEM]

Lines of log in the formats of sixteen systems, made from the messages below: each line has the
header that its system writes, and other values every time. Two lines belong together that were made
from one message. Of all pairs of lines of a system that a way of grouping puts together, P
(precision) are right; of all that belong together, R (recall) are found; F1 is their harmonic mean.
Which messages are frequent changes with the seed; the table has means. `errors` are the lines whose
message begins with an exclamation mark here.

`words only` is the plain way: the words of the message that have no digit in them, and of the header
nothing. It is told where the header ends, which `failure_hash` has to find. `before` is what
`failure_hash` gave up to 0.11, which memories of that time hold.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hardwon.text.failures import failure_hash, failure_hashes

# ---- values

_WORDS = (
    "alpha bravo carol delta eagle frank grape hotel india joker karma lemon mango north".split()
)
_USERS = "root admin guest oracle webmaster test fztu zhangyan mysql git support".split()
_FILES = "report.csv part-{n5} job.xml index.html libhello.so data.bin core.{n4} awstats.pl".split()
_HOSTS = (
    "www.example.com ns1.example.net mail.example.org db.corp.example.com cache.example.edu".split()
)
_APPS = "chrome.exe dropbox.exe firefox.exe thunder.exe skype.exe".split()


class Values:
    """Made-up values, by the names that the messages call them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def fill(self, template: str) -> str:
        while True:
            filled = re.sub(r"\{(\w+)\}", lambda match: self._make(match[1]), template)
            if filled == template:
                return filled
            template = filled

    def pick(self, choices: list[str]) -> str:
        """The first far more often than the last, as in a log."""
        weights = [1 / (place + 1) for place in range(len(choices))]
        return self._random.choices(choices, weights)[0]

    def _make(self, name: str) -> str:
        chance = self._random
        if name[0] == "n" and name[1:].isdigit():  # {n5}: five digits
            digits = int(name[1:])
            return str(chance.randrange(10 ** (digits - 1), 10**digits))
        if name[0] == "z" and name[1:].isdigit():  # {z5}: the same, with zeros before it
            return f"{chance.randrange(10 ** int(name[1:])):0{name[1:]}}"
        if name[0] == "x" and name[1:].isdigit():
            return f"{chance.getrandbits(4 * int(name[1:])):0{name[1:]}x}"
        made: dict[str, Callable[[], str]] = {
            "n": lambda: str(int(10 ** chance.uniform(0, 7)) - 1),
            "few": lambda: str(chance.randrange(16)),
            "part": lambda: f"{chance.random() * 100:.4f}",
            "ip": lambda: ".".join(str(chance.randrange(1, 255)) for _ in range(4)),
            "port": lambda: str(chance.randrange(1_024, 65_536)),
            "uuid": lambda: "{x8}-{x4}-{x4}-{x4}-{x12}",
            "word": lambda: chance.choice(_WORDS),
            "user": lambda: chance.choice(_USERS),
            "file": lambda: chance.choice(_FILES),
            "host": lambda: chance.choice(_HOSTS),
            "app": lambda: chance.choice(_APPS),
            "bits": lambda: chance.choice(["", " *64"]),
            "path": lambda: "/" + "/".join(
                chance.choice(["{word}", "{word}{few}", "{word}_{n4}"])
                for _ in range(chance.randrange(2, 5))
            ),
            "signed": lambda: chance.choice(["", "-"]) + "{n9}{n9}",
            "block": lambda: "blk_{signed}",
            "task": lambda: "task_{n13}_{z4}_{kind}_{z6}",
            "attempt": lambda: "attempt_{n13}_{z4}_{kind}_{z6}_{few}",
            "kind": lambda: chance.choice("mr"),
            "app_id": lambda: "application_{n13}_{z4}",
            "container": lambda: "container_{n13}_{z4}_{z2}_{z6}",
            "rack": lambda: "R{z2}-M{few}-N{few}-C:J{z2}-U{z2}",
            "node": lambda: "node-{n2}",
            "clock": lambda: "{hour}:{sixty}:{sixty}",
            "hour": lambda: f"{chance.randrange(24):02}",
            "sixty": lambda: f"{chance.randrange(60):02}",
            "month": lambda: chance.choice("Jan Mar Jun Jul Oct Dec".split()),
            "day": lambda: str(chance.randrange(10, 29)),
            "weekday": lambda: chance.choice("Mon Tue Wed Thu Sun".split()),
            "level": lambda: chance.choice(["INFO", "INFO", "WARN"]),
            "letter": lambda: chance.choice("DIVW"),
            "module": lambda: chance.choice(["Step_LSC", "Step_SPUtils", "Step_StandReportReceiver"]),
            "logger": lambda: "dfs.{part_of}",
            "part_of": lambda: chance.choice(["DataNode$DataXceiver", "FSNamesystem", "DataNode"]),
        }  # fmt: skip
        return made[name]()


# ---- systems


class System(NamedTuple):
    """What a system writes: the header of each line, and its messages. Those that report a failure
    begin with an exclamation mark; `error` is the header of these, where it is another.
    """

    header: str
    messages: str
    error: str = ""


SYSTEMS = {
    "HDFS": System(
        "08{n2}{n2} {hour}{sixty}{sixty} {n4} {level} {logger}: ",
        """Receiving block {block} src: /{ip}:{port} dest: /{ip}:50010
        PacketResponder {few} for block {block} terminating
        BLOCK* NameSystem.addStoredBlock: blockMap updated: {ip}:50010 is added to {block} size {n8}
        Received block {block} of size {n8} from /{ip}
        BLOCK* NameSystem.allocateBlock: /user/{user}/rand/_temporary/_task_{n12}_{z4}_m_{z6}_0/part-{z5}. {block}
        Verification succeeded for {block}
        BLOCK* NameSystem.delete: {block} is added to invalidSet of {ip}:50010
        Deleting block {block} file /mnt/hadoop/dfs/data/current/subdir{n2}/{block}
        {ip}:50010 Served block {block} to /{ip}
        Starting thread to transfer block {block} to {ip}:50010
        !{ip}:50010:Got exception while serving {block} to /{ip}:
        !writeBlock {block} received exception java.io.IOException: Could not read from stream
        !Exception in receiveBlock for block {block} java.io.IOException: Connection reset by peer
        !PendingReplicationMonitor timed out block {block}
        !Unexpected error trying to delete block {block}. BlockInfo not found in volumeMap.""",
    ),
    "Hadoop": System(
        "20{n2}-10-{day} {clock},{n3} INFO [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: ",
        """{attempt} TaskAttempt Transitioned from UNASSIGNED to ASSIGNED
        {task} Task Transitioned from SCHEDULED to RUNNING
        Progress of TaskAttempt {attempt} is : {part}
        Assigned container {container} to {attempt}
        Event Writer setup for JobId: job_{n13}_{z4}, File: hdfs://msra-sa-{n2}:9000/tmp/{file}
        Created MRAppMaster for application appattempt_{n13}_{z4}_{z6}
        Recalculating schedule, headroom=<memory:{n}, vCores:{few}>
        Auth successful for job_{n13}_{z4} (auth:SIMPLE)
        JVM with ID : jvm_{n13}_{z4}_m_{z6} asked for a task
        !ERROR IN CONTACTING RM.
        !Address change detected. Old: msra-sa-{n2}/{ip}:8030 New: msra-sa-{n2}:8030
        !Failed to renew lease for [DFSClient_NONMAPREDUCE_{n9}_1] for {n3} seconds.  Will retry shortly ...
        !Error writing History Event: org.apache.hadoop.mapreduce.jobhistory.{word}Event@{x8}
        !Task: {attempt} - exited : NoRouteToHostException: No Route to Host from  {word}/{ip} to msra-sa-{n2}:9000 failed
        !Container complete event for unknown container id {container}
        !DFSOutputStream ResponseProcessor exception  for block BP-{n10}-{ip}-{n13}:{block}_{n6}""",
        "20{n2}-10-{day} {clock},{n3} ERROR [RMCommunicator Allocator] "
        "org.apache.hadoop.mapreduce.v2.app.rm.RMContainerAllocator: ",
    ),
    "Spark": System(
        "17/06/{day} {clock} {level} executor.Executor: ",
        """Running task {few}.0 in stage {few}.0 (TID {n})
        Finished task {few}.0 in stage {few}.0 (TID {n}). {n4} bytes result sent to driver
        Found block rdd_{few}_{few} locally
        Block rdd_{few}_{n2} stored as values in memory (estimated size {n2}.{few} KB, free {n2}.{few} GB)
        Started reading broadcast variable {n}
        Reading broadcast variable {n} took {n} ms
        Got assigned task {n}
        Input split: hdfs://{ip}:9000/pjhe/logs/{word}{n2}.log:{n}+{n}
        Saved output of task '{attempt}' to hdfs://{ip}:9000/pjhe/test/{few}/_temporary/0/{task}
        Times: total = {n}, boot = -{n}, init = {n}, finish = {few}
        Putting block rdd_{few}_{few} failed due to memory
        !Lost task {few}.0 in stage {few}.0 (TID {n}, {word}-{n2}): java.io.FileNotFoundException: {path} (Too many open files)
        !Exception in task {few}.0 in stage {few}.0 (TID {n})
        !Failed to fetch block shuffle_{few}_{n2}_{n3} from {word}-{n2}.example.com:{port}
        !Uncaught exception in thread Executor task launch worker-{few}""",
        "17/06/{day} {clock} ERROR executor.Executor: ",
    ),
    "Zookeeper": System(
        "2015-07-{day} {clock},{n3} - INFO  [NIOServerCxn.Factory:0.0.0.0/0.0.0.0:2181:NIOServerCnxn@{n4}] - ",
        """Received connection request /{ip}:{port}
        Accepted socket connection from /{ip}:{port}
        Client attempting to establish new session at /{ip}:{port}
        Established session 0x{x15} with negotiated timeout {n5} for client /{ip}:{port}
        Closed socket connection for client /{ip}:{port} which had sessionid 0x{x15}
        Expiring session 0x{x15}, timeout of {n5}ms exceeded
        Notification time out: {n5}
        Processed session termination for sessionid: 0x{x15}
        Connection request from old client /{ip}:{port}; will be dropped if server is in r-o mode
        !caught end of stream exception
        !Exception causing close of session 0x{x15} due to java.io.IOException: ZooKeeperServer not running
        !Cannot open channel to {few} at election address /{ip}:3888
        !Connection broken for id {n17}, my id = {few}, error =
        !Interrupted while waiting for message on queue
        !Unexpected exception causing shutdown while sock still open""",
        "2015-07-{day} {clock},{n3} - WARN  [WorkerReceiver[myid={few}]:QuorumCnxManager$RecvWorker@{n3}] - ",
    ),
    "OpenStack": System(
        "nova-compute.log.1.2017-05-16_13:55:31 2017-05-16 {clock}.{n3} {n4} INFO nova.compute.manager "
        "[req-{uuid} {x32} {x32} - - -] ",
        """[instance: {uuid}] VM Started (Lifecycle Event)
        [instance: {uuid}] Took {part} seconds to build instance.
        {ip} "GET /v2/{x32}/servers/detail HTTP/1.1" status: 200 len: {n4} time: {part}
        [instance: {uuid}] Creating image
        image {uuid} at (/var/lib/nova/instances/_base/{x40}): checking
        Active base files: /var/lib/nova/instances/_base/{x40}
        [instance: {uuid}] Attempting claim: memory {n4} MB, disk {n2} GB, vcpus {few} CPU
        Total memory: {n5} MB, used: {n4}.00 MB
        [instance: {uuid}] disk limit not specified, defaulting to unlimited
        Auditing locally available compute resources for node cp-{few}.slowvm1.tcloud-pg0.utah.example.us
        !HTTP exception thrown: No instances found for any event
        !While synchronizing instance power states, found {few} instances in the database and {few} instances on the hypervisor.
        !Unknown base file: /var/lib/nova/instances/_base/{x40}
        ![instance: {uuid}] Instance failed to spawn
        ![instance: {uuid}] Failed to deallocate network(s) for host cp-{few}""",
        "nova-api.log.2017-05-14_21:27:04 2017-05-14 {clock}.{n3} {n4} ERROR nova.api.openstack.wsgi "
        "[req-{uuid} {x32} {x32} - - -] ",
    ),
    "BGL": System(
        "- 11{n8} 2005.06.{day} {rack} 2005-06-{day}-{hour}.{sixty}.{sixty}.{n6} {rack} RAS KERNEL INFO ",
        """instruction cache parity error corrected
        generating core.{n4}
        CE sym {n2}, at 0x{x8}, mask 0x{z2}
        {n} double-hummer alignment exceptions
        {n} floating point alignment exceptions
        ciod: generated {n3} core files for program {path}
        total of {n} ddr error(s) detected and corrected
        iar {x8} dear {x8}
        MidplaneSwitchController performing bit sparing on R{z2}-M{few}-L{few}-U{n2}-A bit {few}
        !data TLB error interrupt
        !ciod: failed to read message prefix on control stream (CioStream socket to {ip}:{port}
        !ciod: Error loading {path}: invalid or missing program image, No such file or directory
        !ciod: LOGIN chdir({path}) failed: Input/output error
        !rts: kernel terminated for reason {n4}
        !machine check interrupt (bit=0x{x2}): L2 dcache unit data parity error
        !Node card VPD check: U{z2} node in processor card slot J{z2} do not match. VPD ecid {x24}, found {x24}
        !Lustre mount FAILED : bglio{n3} : block_id : location""",
        "KERNDTLB 11{n8} 2005.06.{day} {rack} 2005-06-{day}-{hour}.{sixty}.{sixty}.{n6} {rack} RAS KERNEL FATAL ",
    ),
    "HPC": System(
        "{n6} {node} unix.hw state_change.unavailable 10{n8} 1 ",
        r"""Component State Change: Component \042alt0\042 is in the unavailable state (HWID={n4})
        boot (command {n4})
        PSU status ( on off )
        Temperature ({n2}) exceeds warning threshold
        Fan speeds ( {n4} {n4} {n4} {n4} {n4} {n4} )
        running running
        ServerFileSystem: An ServerFileSystem domain panic has occurred on storage{n3}
        ClusterFileSystem: There is no server for ServerFileSystem domain storage{n3}
        halt (command {n4})
        !Link error on broadcast tree Interconnect-{few}T{z2}:{z2}:{few}:{few}
        !Link in reset
        !ambient={n2} exceeds the limit of {n2}
        !not responding
        !NIFF: node {node} detected a failed network connection on network {ip} via interface alt{few}
        !Failed subcommands {n4} {n4}
        !Targeting domains:{node} and nodes:{node} child of command {n4}""",
    ),
    "Thunderbird": System(
        "- 11{n8} 2005.11.{day} dn{n3} Nov {day} {clock} dn{n3}/dn{n3} crond(pam_unix)[{n4}]: ",
        """session closed for user {user}
        session opened for user {user} by (uid=0)
        (root) CMD (run-parts /etc/cron.hourly)
        data_thread() got not answer from any [Thunderbird_A{few}] datasource
        synchronized to {ip}, stratum {few}
        DHCPDISCOVER from {x2}:{x2}:{x2}:{x2}:{x2}:{x2} via eth{few}
        DHCPREQUEST for {ip} from {x2}:{x2}:{x2}:{x2}:{x2}:{x2} via eth{few}
        connection from {ip} at port {port}
        Starting sshd: succeeded
        [KERNEL_IB][ib_sa_event][ib_sa.c:{n3}] port {few} lid {n3}
        !Error: not able to get drive {few} data
        !Failed password for {user} from {ip} port {port} ssh2
        !EXT3-fs error (device sda{few}): ext3_find_entry: reading directory #{n} offset {few}
        !PSlinux: no response from {node} after {n} ms
        !smartd: Device: /dev/sd{word}, {n} Currently unreadable (pending) sectors
        !mptscsih: ioc{few}: attempting task abort! (sc={x16})""",
        "ECC 11{n8} 2005.11.{day} bn{n3} Nov {day} {clock} bn{n3}/bn{n3} kernel: ",
    ),
    "Windows": System(
        "2016-09-{day} {clock}, Info                  CBS    ",
        r"""Loaded Servicing Stack v6.1.{n4}.{n5} with Core: C:\Windows\winsxs\amd64_stack_{x16}_6.1.{n5}_none_{x16}\cbscore.dll
        SQM: Initializing online with Windows opt-in: False
        SQM: Cleaning up report files older than {n2} days.
        Session: {n8}_{n9} initialized by client WindowsUpdateAgent.
        Read out cached package applicability for package: Package_for_KB{n7}~{x16}~amd64~~6.1.{few}, CurrentState:{n3}
        NonStart: Set pending store consistency check.
        {z8} CSI perf trace: CSIPERF:TXCOMMIT;{n}
        {z8}@2016/9/{day}:{clock}.{n3} CSI Transaction @0x{x8} initialized for deployment engine «{uuid}»
        Scavenge: Starts
        Idle processing thread terminated normally
        !Failed to internally open package. [HRESULT = 0x800f0805 - CBS_E_INVALID_PACKAGE]
        !SQM: Failed to start upload with file pattern: C:\Windows\sqm\*_std.sqm, flags: 0x{few} [HRESULT = 0x80004005]
        !Warning: Unrecognized packageExtended attribute.
        !Failed to get next element [HRESULT = 0x800f080d - CBS_E_MANIFEST_INVALID_ITEM]
        !Could not open file C:\Windows\Temp\{word}_{n4}.cab for session {n8}_{n9}""",
    ),
    "Linux": System(
        "{month} {day} {clock} combo sshd(pam_unix)[{n5}]: ",
        """session opened for user {user} by (uid=0)
        session closed for user {user}
        connection from {ip} () at {weekday} {month} {day} {clock} 2005
        ALERT exited abnormally with [{few}]
        cupsd shutdown succeeded
        Memory: {n6}k/{n6}k available ({n4}k kernel code, {n4}k reserved, {n3}k data)
        CPU {few} irqstacks, hard={x8} soft={x8}
        usbcore: registered new driver {word}
        PCI: Using IRQ router PIIX/ICH [{x4}/{x4}] at {z4}:{z2}:{x2}.{few}
        BIOS-e820: {x16} - {x16} (usable)
        !authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={ip}
        !authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={host}  user={user}
        !check pass; user unknown
        !couldn't add command channel {ip}#{port}: not found
        !Kerberos authentication failed
        !warning: can't get client address: Connection reset by peer
        !refused connect from {ip}""",
    ),
    "Mac": System(
        "{month}  {few} {clock} calvisitor-{n2}-{n3}-{n3}-{n2} kernel[0]: ",
        """ARPT: {n6}.{n6}: wl0: setup_keepalive: Local port: {port}, Remote port: {port}
        ARPT: {n6}.{n6}: AirPort_Brcm43xx::powerChange: System Sleep
        IOThunderboltSwitch<{few}>(0x{few})::listenerCallback - HPD packet for route = 0x{few} port = {few} unplug = {few}
        en0: channel changed to {n2}
        PM response took {n4} ms ({n2}, powerd)
        TCP: keepalive {n} of {n} failed for {host}
        hibernate_page_list_setall time: {n3} ms
        AppleCamIn::systemWakeCall - messageType = 0x{x8}
        Wake reason: {x4} (Network)
        sandboxd: ({word}) ([{n5}]) deny mach-lookup com.apple.{word}
        !AppleCamIn::handleWakeEvent_gated failed
        !nsurlsessiond[{n4}]: Task {n} finished with error - code: -1001
        !Google Chrome He[{n5}]: CoreText CopyFontsForRequest received mig IPC error (FFFFFFFFFFFFFECC) from font server
        !Failed to get the connection to {host}: Operation timed out
        !mDNS_RegisterInterface: Frequent transitions for interface en{few} ({ip})
        !in6_unlink_ifa: IPv6 address 0x{x16} has no prefix""",
    ),
    "Android": System(
        "03-{day} {clock}.{n3}  {n4}  {n4} {letter} WindowManager: ",
        """printFreezingDisplayLogs wtoken = AppWindowToken«{x7} Token«{x7} u0 com.{word}/.Main t{n3}»», allDrawn= false
        acquire lock={n9}, flags=0x{few}, tag="{word}", name=android, ws=null, uid={n5}, pid={n4}
        release lock={n9}, flg=0x{few}, tag="{word}", name=android
        setSystemUiVisibility vis={few} mask={few} oldVal={n9} newVal={n9} diff={n}
        ready=true,policy=3,wakefulness=1,wksummary=0x{x2},uasummary=0x{few},bootcompleted=true
        userActivityNoUpdateLocked: eventTime={n9}, event={few}, flags=0x{few}, uid={n4}
        HBM brightnessIn ={n3}
        getRunningAppProcesses: caller {n5} does not hold REAL_GET_TASKS; limiting output
        Destroying surface Surface(name={word}) called by com.android.server.wm.WindowStateAnimator
        Skipping AppWindowToken«{x7} token=Token«{x7} ActivityRecord«{x7} u0 com.{word}/.Main t{n3}»»» -- going to hide
        !Failed to find provider info for {word}
        !NullPinKeyguard: window token {x8} is not valid
        !Unable to start service Intent « act=com.{word}.ACTION » U={few}: not found
        !Bad activity token: android.os.BinderProxy@{x7}
        !Invalid notification channel {n5} for pkg={word} uid={n5}""",
        "03-{day} {clock}.{n3}  {n4}  {n4} E ActivityManager: ",
    ),
    "HealthApp": System(
        "201712{day}-{clock}:{n3}|{module}|300{n5}|",
        """onStandStepChanged {n4}
        onExtend:{n13} {few} {few} {few}
        getTodayTotalDetailSteps = {n13}##{n4}##{n6}##{n4}##{n5}##{n8}
        setTodayTotalDetailSteps={n13}##{n4}##{n6}##{n4}##{n5}##{n8}
        calculateCaloriesWithCache totalCalories={n6}
        calculateAltitudeWithCache totalAltitude={n3}
        REPORT : {n4} {n4} {n6} {n3}
        onReceive action: android.intent.action.SCREEN_ON
        flush sensor data
        screen status unknown,think screen on
        !saveHealthDetailData() rebuildHealthDataLine not all zero num={few}
        !upLoadOneMinuteDataToEngine time={n8},{few},{few},{few},{few} failed
        !HiH_HiSyncControl checkCanSync failed, user id = {n5}
        !openDatabase error: unable to open /data/data/com.{word}/databases/{word}{few}.db
        !getBinder error for type {few}""",
    ),
    "Apache": System(
        "[{weekday} Dec {day} {clock} 2005] [notice] ",
        """jk2_init() Found child {n5} in scoreboard slot {few}
        workerEnv.init() ok /etc/httpd/conf/workers2.properties
        Digest: generating secret for digest authentication ...
        Digest: done
        LDAP: Built with OpenLDAP LDAP SDK
        suEXEC mechanism enabled (wrapper: /usr/sbin/suexec)
        !mod_jk child workerEnv in error state {few}
        ![client {ip}] Directory index forbidden by rule: /var/www/html/
        ![client {ip}] File does not exist: /var/www/html/{word}/{file}
        ![client {ip}] script not found or unable to stat: /var/www/cgi-bin/{file}
        !jk2_init() Can't find child {n5} in scoreboard
        !mod_jk child init {few} -{few}
        ![client {ip}] client sent HTTP/1.1 request without hostname (see RFC2616 section 14.23): /{word}
        !env.createBean2(): Factory error creating channel.jni:jni ( channel.jni, jni)""",
        "[{weekday} Dec {day} {clock} 2005] [error] ",
    ),
    "Proxifier": System(
        "[10.{day} {clock}] {app}{bits} - ",
        """{host}:443 open through proxy {host}:5070 HTTPS
        {host}:443 close, {n4} bytes sent, {n5} bytes received, lifetime {sixty}:{sixty}
        {ip}:{port} close, {n3} bytes ({n2} KB) sent, {n5} bytes ({n2} KB) received, lifetime <1 sec
        {host}:80 open directly
        !{host}:443 error : Could not connect through proxy {host}:5070 - Proxy closed the connection unexpectedly.
        !{host}:443 error : Could not connect through proxy {host}:5070 - Proxy server cannot reach the target, status code 403
        !{ip}:{port} error : Could not connect to proxy {host}:5070 - connection attempt failed with error 10061""",
    ),
    "OpenSSH": System(
        "Dec {day} {clock} LabSZ sshd[{n5}]: ",
        """pam_unix(sshd:session): session opened for user {user} by (uid=0)
        Received disconnect from {ip}: 11: Bye Bye [preauth]
        Connection closed by {ip} [preauth]
        Accepted password for {user} from {ip} port {port} ssh2
        PAM {few} more authentication failures; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}  user={user}
        !reverse mapping checking getaddrinfo for {host} [{ip}] failed - POSSIBLE BREAK-IN ATTEMPT!
        !Invalid user {user} from {ip}
        !Failed password for {user} from {ip} port {port} ssh2
        !Failed password for invalid user {user} from {ip} port {port} ssh2
        !pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}
        !pam_unix(sshd:auth): check pass; user unknown
        !error: Received disconnect from {ip}: {few}: com.jcraft.jsch.JSchException: Auth fail [preauth]
        !Did not receive identification string from {ip}
        !fatal: Write failed: Connection reset by peer [preauth]
        !message repeated {few} times: [ Failed password for {user} from {ip} port {port} ssh2]
        !input_userauth_request: invalid user {user} [preauth]
        !Bad protocol version identification '{word}' from {ip} port {port}""",
    ),
}


class Line(NamedTuple):
    text: str
    message: str  # without its header
    made_from: int
    failed: bool


def make_lines(system: System, count: int, seed: int) -> Iterator[Line]:
    messages = [line.strip() for line in system.messages.split("\n")]
    random.Random(seed).shuffle(messages)  # which of them are frequent
    values = Values(seed)
    for _ in range(count):
        template = values.pick(messages)
        failed = template.startswith("!")
        header = system.error if failed and system.error else system.header
        message = _fill(values, template.removeprefix("!"))
        yield Line(_fill(values, header) + message, message, messages.index(template), failed)


def _fill(values: Values, template: str) -> str:
    """The braces of the log itself are « and » in the messages."""
    return values.fill(template).replace("«", "{").replace("»", "}")


# ---- scores


class Score(NamedTuple):
    f1: float
    precision: float
    recall: float


def score(found: Iterable[object], truth: Iterable[object]) -> Score:
    """Of all pairs that are together."""
    both = list(zip(found, truth, strict=True))
    together, expected, right = (
        sum(count * (count - 1) // 2 for count in Counter(each).values())
        for each in ([one for one, _ in both], [other for _, other in both], both)
    )
    precision = right / together if together else 1.0
    recall = right / expected if expected else 1.0
    total = precision + recall
    return Score(2 * precision * recall / total if total else 0.0, precision, recall)


def words_only(line: Line) -> str:
    return " ".join(
        word for word in re.findall(r"[^\s,;:=\[\](){}\"']+", line.message) if word.isalpha()
    )


WAYS: dict[str, Callable[[Line], str]] = {
    "failure_hash": lambda line: failure_hash(line.text),
    "before": lambda line: failure_hashes(line.text)[-1],
    "words only": words_only,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=2_000, help="of each system")
    parser.add_argument("--seeds", type=int, default=5, help="so many times, with other values")
    parser.add_argument("--messages", action="store_true", help="without their headers")
    parser.add_argument("--show", choices=SYSTEMS, help="what is put together and what is not")
    asked = parser.parse_args()
    if asked.show:
        show(list(make_lines(SYSTEMS[asked.show], asked.lines, 1)))
        return
    print(f"{'':14}" + "".join(f"{way:^42}" for way in WAYS))
    print(f"{'':14}" + f"  {'all: F1, P, R':18} | {'errors: F1, P, R':18} " * len(WAYS))
    every: dict[str, list[tuple[Score, Score]]] = {way: [] for way in WAYS}
    count, spent = 0, 0.0
    for name, system in SYSTEMS.items():
        found: dict[str, list[tuple[Score, Score]]] = {way: [] for way in WAYS}
        for seed in range(1, asked.seeds + 1):
            lines = list(make_lines(system, asked.lines, seed))
            if asked.messages:
                lines = [line._replace(text=line.message) for line in lines]
            for way, group in WAYS.items():
                found[way].append(score_both(lines, group))
            started = time.process_time()
            for line in lines:
                failure_hash(line.text)
            spent += time.process_time() - started
            count += len(lines)
        for way, scores in found.items():
            every[way].append(mean_of_both(scores))
        print(f"{name:14}" + "".join(_shown(*every[way][-1]) for way in WAYS))
    print(f"{'mean':14}" + "".join(_shown(*mean_of_both(every[way])) for way in WAYS))
    print(f"failure_hash: {spent / count * 1e6:.0f} µs a line")


def score_both(lines: list[Line], group: Callable[[Line], str]) -> tuple[Score, Score]:
    """Of all lines, and of those that report a failure."""
    grouped = [(group(line), line.made_from, line.failed) for line in lines]
    failed = [each for each in grouped if each[2]]
    overall, errors = (
        score([each[0] for each in those], [each[1] for each in those])
        for those in (grouped, failed)
    )
    return overall, errors


def mean_of_both(scores: list[tuple[Score, Score]]) -> tuple[Score, Score]:
    overall, errors = (
        Score(*map(statistics.fmean, zip(*those, strict=True)))
        for those in zip(*scores, strict=True)
    )
    return overall, errors


def _shown(*scores: Score) -> str:
    return "  " + " | ".join(
        f"{each.f1:.3f}  {each.precision:.3f}  {each.recall:.3f}" for each in scores
    )


def show(lines: list[Line]) -> None:
    """The groups of each message, and messages that share one."""
    from hardwon.text.failures import error_core

    cores: dict[int, Counter[str]] = {}
    for line in lines:
        cores.setdefault(line.made_from, Counter())[error_core(line.text)] += 1
    for found in cores.values():
        print(f"{sum(found.values()):5} in {len(found)}")
        for core, count in found.most_common(4):
            print(f"      {count:5} {core}")
    shared = Counter(core for found in cores.values() for core in found)
    print("shared:", [core for core, count in shared.items() if count > 1])


if __name__ == "__main__":
    main()
