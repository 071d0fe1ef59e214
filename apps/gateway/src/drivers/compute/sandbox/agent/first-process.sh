# The machine's first process, run as: sh first-process.sh <most processes> <agent command...>
# It starts the agent, reaps every process that loses its parent (the shell's `wait` does), and ends when the
# agent ends, upon which the kernel ends everything else in the machine.

# Debian's sh calls the limit on processes -p, bash calls it -u. It serves where no control group counts them.
(ulimit -p "$1") 2>/dev/null && ulimit -p "$1" || ulimit -u "$1" 2>/dev/null
ulimit -c 0
shift
cd /root
# Holding file 7 is what keeps the way to the internet there; nobody else in the machine is to hold it.
"$@" 7>&- &
agent=$!
trap '' TERM INT HUP
# Nothing in the machine is to reach the gateway's files through /proc/1/fd.
exec </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&-
wait "$agent"
