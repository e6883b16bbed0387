"""The table of programs of the system: one line per program or group. `_developer_programs` has the others.

To add a program, put its name into a group of `DANGEROUS` or `READERS`, or give it a `Shape`. What stands nowhere
is ordinary. `_runners` and the handlers know programs that run others or need more than a table can say.
"""

from overt.safety._options import Shape
from overt.safety.danger import Reason

DANGEROUS: dict[Reason, str] = {
    Reason("deletes files", "files", "delete"): """del-cli rm rmdir unlink shred srm wipe scrub rimraf deltree trash
        trash-put trash-empty trash-rm rmtrash safe-rm gomi saferm bleachbit tmpreaper tmpwatch del erase rd""",
    Reason("moves or renames files", "files", "move"): """mv rename rename.ul detox prename perl-rename file-rename
        mmv qmv imv vidir""",
    Reason("changes modes or owners", "files"): """chmod chown chgrp chattr setfacl chcon chacl setcap restorecon
        setfattr icacls takeown lchown fixfiles setfiles xattr SetFile chflags""",
    Reason("overwrites files", "files"): """truncate sponge install split csplit ddrescue dcfldd dc3dd sd rpl fastmod
        dos2unix unix2dos mac2unix ginstall exiv2 mogrify jpegoptim optipng""",
    Reason("changes disks or file systems"): """mke2fs mkfs mkswap mkdosfs mkntfs mkisofs fdisk sfdisk cfdisk gdisk
        sgdisk cgdisk parted gparted partprobe wipefs blkdiscard badblocks hdparm cryptsetup mdadm lvremove vgremove
        pvremove lvcreate lvresize lvextend lvreduce vgcreate pvcreate zpool fsck e2fsck xfs_repair ntfsfix tune2fs
        resize2fs xfs_growfs debugfs swapon swapoff umount fusermount eject dmsetup fstrim nvme newfs newfs_hfs
        diskutil hdiutil losetup format flashrom dump restore""",
    Reason("stops processes", "process"): "killall pkill xkill skill snice killall5 slay",
    Reason("stops or restarts the machine"): """shutdown reboot halt poweroff init telinit kexec rtcwake pm-suspend
        pm-hibernate""",
    Reason("changes accounts"): """useradd userdel usermod adduser deluser groupadd groupdel groupmod addgroup
        delgroup gpasswd passwd chpasswd chsh chfn vipw vigr newusers chage visudo sudoedit pwconv grpconv dscl
        dseditgroup""",
    Reason("runs commands later"): "at batch atrm anacron incrontab fcron",
    Reason("changes network or firewall"): """ufw firewall-cmd ebtables arptables ifup ifdown iwconfig dhclient tc
        brctl vconfig openvpn wg-quick pfctl networksetup""",
    Reason("changes the system"): """insmod rmmod modprobe depmod setenforce update-grub grub-install grub-mkconfig
        update-initramfs dpkg-reconfigure update-alternatives alternatives update-rc.d chkconfig ldconfig pivot_root
        switch_root nvram csrutil spctl setsebool aa-enforce aa-disable auditctl bless kextload kextunload
        systemd-tmpfiles systemd-sysusers ipcrm logrotate authconfig""",
    Reason("edits files", "files"): """ed red ex vi vim nvim view rvim gvim vimdiff emacs emacsclient nano pico joe
        jed micro helix hx kak mcedit ne tilde qemacs xemacs mg""",
    Reason("copies over files, here or elsewhere", "published"): "scp sftp rcp ftp lftp ncftp tftp unison",
    Reason("runs code that cannot be read", "code"): """gdb lldb expect osascript wscript cscript mshta rundll32
        regsvr32 cmd cmd.exe""",
    Reason("mines or attacks"): "xmrig hydra sqlmap msfconsole msfvenom responder",
    Reason("drops databases"): "dropdb dropuser pg_dropcluster mysqladmin pg_resetwal pg_restore mongorestore",
}
"""Whatever the arguments. Names that begin with `mkfs.` or `fsck.` count too."""

READERS = frozenset(
    """ls dir vdir cat tac head tail wc nl od pwd echo true false : sleep usleep whoami id groups users who w last
        lastb lastlog logname uname arch hostid nproc tty basename dirname realpath readlink stat du df cut tr fold
        fmt pr expand unexpand paste join comm tsort factor seq numfmt cksum sum md5sum sha1sum sha224sum sha256sum
        sha384sum sha512sum b2sum b3sum shasum md5 sha1 sha256 rmd160 crc32 xxhsum xxh64sum expr printenv base32
        base64 basenc yes dircolors pathchk egrep fgrep grep zgrep zegrep zfgrep bzgrep xzgrep lzgrep rgrep pcregrep
        pcre2grep agrep cmp diff diff3 colordiff wdiff icdiff zdiff zcmp bzdiff bzcmp xzdiff xzcmp dwdiff zcat bzcat
        xzcat lz4cat lzcat gzcat zmore bzmore zipgrep column colrm rev look strings hexdump hd hexyl jq gron csvlook
        csvcut csvstat csvgrep csvsort csvjson tokei loc exa eza lsd figlet cowsay fortune lolcat cal ncal bc
        apropos whatis which whereis whence locate mlocate plocate ps pgrep pidof pstree top htop btop glances
        uptime free vmstat iostat mpstat pidstat pmap lsof lslocks lsns lsipc lslogins getconf getent locale lscpu
        lsmem lspci lsusb lsblk lsmod lshw lsscsi lspcmcia hwinfo inxi blkid findmnt sensors acpi ping ping6
        traceroute traceroute6 tracepath mtr dig drill host nslookup whois netstat nstat nm objdump readelf size
        addr2line c++filt otool dwarfdump pahole shellcheck hadolint yamllint getfacl getfattr lsattr getcap
        sestatus getenforce tput clear uuidgen mcookie zipinfo lsar soxi identify pdfinfo pdffonts wait times fg bg
        disown ulimit break continue return exit logout shift getopts help caller dirs test [ sync neofetch
        fastfetch screenfetch vainfo vulkaninfo glxinfo xdpyinfo fc-list fc-match lsinitramfs lsb_release sw_vers
        vm_stat atq mailq ac namei bzless xzless zless less more most pg isutf8 combine ccze chardet uchardet ts
        cpuid numastat slabtop pwdx prtstat peekfd lsfd irqtop uname26 desktop-file-validate readtags nettop iftop
        nethogs bmon vnstat tload col ul pg_isready pipdeptree ansible-doc jless htmlq pup glow mdcat sha3sum
        zstdgrep zstdless lz4less xzmore fgconsole systemd-detect-virt systemd-path systemd-escape errno ascii wcalc
        qalc sloccount dust duf procs ipcs""".split()
)
"""Whatever the arguments: they change nothing."""

RUNS = Reason("runs a program of its own", "code")
RENAMES = Reason("changes what a name or a key runs", "environment")
IN_PLACE = Reason("edits files in place", "files")
STOPS = Reason("stops processes", "process")

WRITING_READERS = {
    name: Shape(rest="harmless", writes=writes)
    for names, writes in {
        "xsv qsv pv scc shuf base64 iconv xmllint info xsltproc": "-o --output",
        "pygmentize sar zstdcat tree": "-o",
        "cloc": "--out --report-file --sql",
        "dmidecode": "--dump-bin",
        "nvidia-smi": "-f --filename",
        "mediainfo": "--LogFile",
        "atop": "-w",
        "xmlwf": "-d",
        "units": "-L --log",
        "ansible-inventory": "--output",
    }.items()
    for name in names.split()
}

SERVICES = Shape(
    fine="""$; --failed; status|show|cat|list|print|blame|help|version|get-default
        |show-environment|is-active|is-enabled|is-failed|is-system-running|list-units|list-unit-files|list-timers
        |list-sockets|list-dependencies|list-jobs|list-machines|list-timezones|show-timesync|timesync-status
        |list-sessions|list-users|list-seats|session-status|user-status|show-session|show-user|show-seat; hostname $""",
    rest="dangerous",
    takes="-t -p -n -o -H -M --type --property --lines --output --state",
)

SHAPES: dict[str, Shape] = {
    # readers that some option turns into something else
    **WRITING_READERS,
    "ffprobe": Shape(rest="harmless", writes="-o", single=True),
    "jsonlint": Shape(bad={IN_PLACE: "-i|--in-place"}, rest="harmless"),
    # builtins
    "jobs": Shape(bad={RUNS: "-x"}, rest="harmless"),
    "hash": Shape(bad={RENAMES: "-p"}, rest="harmless", takes="-p"),
    "enable": Shape(bad={RENAMES: "-f|-n|-d"}, rest="harmless", takes="-f"),
    "bind": Shape(fine="$; -l|-p|-P|-v|-V|-s|-S|-X|-q", rest="dangerous", reason=RENAMES, takes="-m -q"),
    **dict.fromkeys(
        "complete compgen compopt".split(),
        Shape(bad={RUNS: "-C|-F|-P|-S|-W|-X|-x"}, rest="harmless", takes="-A -W -C -F -G"),
    ),
    "sysctl": Shape(fine="-a|--all $", rest="dangerous"),
    "type": Shape(rest="harmless"),
    "sort": Shape(
        bad={RUNS: "--compress-program; --files0-from"},
        rest="harmless",
        takes="-k -t -S -T -o --key --field-separator --buffer-size --output --parallel --batch-size",
        writes="-o --output",
    ),
    "rg": Shape(
        bad={RUNS: "--pre; --hostname-bin"},
        ordinary="--search-zip; -z",
        rest="harmless",
        takes="-e -f -g -t -T -A -B -C -m -M -E -j -d -r --regexp --glob --type --max-count --context --sort --pre",
    ),
    "ag": Shape(bad={RUNS: "--pager"}, rest="harmless", takes="-A -B -C -G -m -p"),
    "bat": Shape(bad={RUNS: "--pager; cache"}, rest="harmless", takes="-l -H -r --language --paging --style -p"),
    "man": Shape(
        bad={RUNS: "-P; --pager; -H; --html; -C; --config-file; -T; -X; -Z"}, rest="harmless", takes="-P -S -s -L -M"
    ),
    "file": Shape(bad={"writes a compiled magic file": "-C|--compile"}, rest="harmless", takes="-m -f -F -P"),
    "yq": Shape(bad={IN_PLACE: "-i|--inplace|--in-place; -y -i"}, rest="harmless", takes="-o -p -I"),
    "dmesg": Shape(
        bad={"clears or changes the kernel's log": "-C|-c|-D|-E|-n|--clear|--read-clear|--console-off|--console-level"},
        rest="harmless",
        takes="-f -l -s -F",
    ),
    "journalctl": Shape(
        bad={
            "deletes or moves logs": """--vacuum-size; --vacuum-time; --vacuum-files; --rotate; --flush;
                --relinquish-var; --setup-keys; --update-catalog"""
        },
        rest="harmless",
        takes="-u -n -p -S -U -o -t -b -g --unit --since --until --lines --priority",
    ),
    "ss": Shape(
        bad={"closes connections": "-K|--kill"}, rest="harmless", takes="-f -A -F -N --filter", writes="-D --diag"
    ),
    "fuser": Shape(bad={STOPS: "-k|--kill"}, rest="harmless", takes="-n -s"),
    "arp": Shape(bad={"changes the address table": "-d|-s|-f|--delete|--set"}, rest="harmless", takes="-i -H"),
    "hostname": Shape(bad={"changes the host's name": "*; -F|--file|-b"}, rest="harmless"),
    "route": Shape(bad={"changes routes": "add|del|delete|change|flush"}, rest="harmless"),
    "ifconfig": Shape(bad={"changes an interface": "* *"}, rest="harmless"),
    "ip": Shape(
        bad={
            "changes the network": """* add|del|delete|set|flush|change|replace|append|exec|up|down|a|d|f; netns exec;
                -b|-batch|--batch"""
        },
        rest="harmless",
        takes="-f -family -n -netns --family --netns",
        single=True,
    ),
    "iptables": Shape(bad={"changes the firewall": "!-L|-S|--list|--list-rules"}, rest="harmless", takes="-t --table"),
    "nmcli": Shape(
        bad={"changes the network": "* up|down|add|delete|modify|connect|disconnect|off|on|set|reload; * * on|off"},
        rest="harmless",
    ),
    **dict.fromkeys(
        "dig drill host nslookup whois ping ping6 traceroute traceroute6 tracepath mtr".split(),
        Shape(rest="harmless", net="*"),
    ),
    **dict.fromkeys(
        "nc ncat netcat".split(),
        Shape(
            bad={"gives others a shell or listens": "-e|-c|-l|-k|--exec|--sh-exec|--listen|--lua-exec"},
            fine="-z",
            takes="-w -p -q -i -e -c",
            net="*",
        ),
    ),
    "socat": Shape(rest="dangerous", net="*"),
    "telnet": Shape(net="*"),
    "nmap": Shape(bad={"runs scripts": "--script"}, net="*", takes="-p -o -oN -oX"),
    "stty": Shape(fine="$; -a|-g|--all|--save; size|speed", rest="ordinary"),
    **dict.fromkeys("timedatectl hostnamectl loginctl systemctl launchctl".split(), SERVICES),
    "hwclock": Shape(fine="-r|--show|--get; $", rest="dangerous"),
    "service": Shape(fine="* status; --status-all", rest="dangerous"),
    "crontab": Shape(fine="-l", rest="dangerous", takes="-u"),
    "mount": Shape(fine="$ !-a|--all|-o|--bind|--move|-t; -l $; -t $; -l -t $", rest="dangerous", takes="-t -o"),
    "kill": Shape(
        fine="-l|-L|--list|--table; -0 !-1|-2|-3|-4|-5|-6|-7|-8|-9|-s|-n|--signal", rest="dangerous", reason=STOPS
    ),
    "umask": Shape(fine="$; -S $", rest="ordinary"),
    "history": Shape(bad={"changes the history": "-c|-d|-w|-a|-n|-r|-s"}, rest="harmless"),
    "fc": Shape(fine="-l", rest="dangerous"),
    "nsupdate": Shape(rest="dangerous", net="*"),
    "ssh-keygen": Shape(fine="-l; -F; -y", rest="dangerous", takes="-f -t -b -C -N"),
    "ssh-add": Shape(fine="-l|-L", rest="ordinary"),
    "ssh-copy-id": Shape(rest="dangerous", net="*"),
    "ssh-keyscan": Shape(rest="harmless", net="*"),
    "gpg": Shape(
        bad={
            "deletes, signs or publishes keys": """--delete-keys|--delete-key|--delete-secret-keys
                |--delete-secret-and-public-key|--send-keys|--edit-key|--gen-revoke|--export-secret-keys"""
        },
        fine="""-k|-K|-d|--decrypt|--list-keys|--list-secret-keys|--fingerprint|--verify|--list-packets|--list-sigs
            |--show-keys|--export|--list-config|--card-status|--print-md""",
        takes="-o --output -u -r --homedir --print-md",
        writes="-o --output",
    ),
    "openssl": Shape(
        bad={
            "signs for others or serves them": "ca|ts|s_server|engine|ocsp|srp|fipsinstall; * --engine|--provider-path"
        },
        rest="harmless",
        takes="--in --inform --outform --connect --servername --CAfile --CApath --key --cert --pass --passin --days",
        writes="--out --keyout --writerand --CAserial --sigfile-out --key_out --cert_out",
        single=True,
    ),
    "tmux": Shape(
        bad={
            "stops sessions or types into them": """kill-server|kill-session|kill-window|kill-pane|send-keys|send
                |run-shell|run|if-shell|pipe-pane|new-session|new|new-window|neww|split-window|splitw|respawn-pane"""
        },
        fine="""ls|list-sessions|list-windows|list-panes|list-clients|list-keys|show-options|display-message
            |capture-pane|has-session|info""",
    ),
    "ar": Shape(fine="t|tv|p", rest="dangerous"),
    "unrar": Shape(fine="l|lb|lt|v|vb|t|p", rest="dangerous"),
    "7z": Shape(bad={"extracts over files or changes an archive": "x|e|d|u|rn"}, fine="l|t|h|i"),
    "cpio": Shape(fine="-t|--list; -o|--create", rest="dangerous", takes="-F -O"),
    "crudini": Shape(fine="--get", bad={IN_PLACE: "--set|--del|--merge"}),
    "pandoc": Shape(
        bad={RUNS: "-F|--filter|-L|--lua-filter"},
        rest="harmless",
        takes="-f -t -r -w -V -M --from --to --template --metadata --variable --pdf-engine",
        writes="-o --output --extract-media",
    ),
    "dot": Shape(rest="harmless", ordinary="-O", takes="-K -G -N -E -l -s", writes="-o"),
    "ctags": Shape(
        fine="-x; -f -; --list-languages; --list-kinds; --list-fields; --list-maps; -f -x; --version",
        takes="-f -o -L --languages --exclude --options",
        writes="-f -o",
    ),
    "age": Shape(fine="-d|--decrypt", takes="-r -R -i -o --recipient --identity --output", writes="-o --output"),
    "strip": Shape(bad={"replaces the file": "* !-o|-V"}, takes="-o -K -N -R -O -I -F", writes="-o"),
}
