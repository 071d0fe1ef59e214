/** Between two looks of the guard at its rules. */
const LOOK_PAUSE_S = 5

/**
 * What the guard runs, by the shell of the engine's computer. `keep` puts the rules in place again and again; `answer`
 * does so for each line that it reads and says whether they stand; `remove` takes them away. A chain is replaced as a whole,
 * so that there is no moment without it.
 *
 * Name servers stay reachable by their port alone: Docker asks them from inside the machine's network.
 */
export const GUARD_SCRIPT = `
servers() {
  for file in /host/etc/resolv.conf /host/run/systemd/resolve/resolv.conf; do
    [ -r "$file" ] || continue
    while read -r word address rest; do
      [ "$word" = nameserver ] || continue
      case $1$address in
        4127.* | 4*[!0-9.]* | 6::1 | 6*[!0-9a-fA-F:.]*) ;;
        4*.* | 6*:*)
          echo "-A $CHAIN -d $address -p udp --dport 53 -j RETURN"
          echo "-A $CHAIN -d $address -p tcp --dport 53 -j RETURN"
          ;;
      esac
    done < "$file"
  done
}
put() {
  printf '%s\\n%s\\n%s\\n' "$3" "$(servers "$2")" "$4" | "$1-restore" -w 5 --noflush || return 1
  "$1" -w 5 -t mangle -C PREROUTING -i "$BRIDGE" -j "$CHAIN" 2> /dev/null ||
    "$1" -w 5 -t mangle -I PREROUTING -i "$BRIDGE" -j "$CHAIN"
}
put_all() {
  put iptables 4 "$HEAD_4" "$TAIL_4" || return 1
  put ip6tables 6 "$HEAD_6" "$TAIL_6" || [ "$IPV6" = no ]
}
take_away() {
  for tool in iptables ip6tables; do
    "$tool" -w 5 -t mangle -D PREROUTING -i "$BRIDGE" -j "$CHAIN"
    "$tool" -w 5 -t mangle -F "$CHAIN"
    "$tool" -w 5 -t mangle -X "$CHAIN"
  done
}
PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin
case $1 in
  answer)
    set -f
    while read -r asked; do
      if said=$(put_all 2>&1); then echo stands; else echo "refused:" $said; fi
    done
    ;;
  remove) take_away ;;
  keep)
    trap 'exit 0' TERM INT
    while :; do
      put_all > /dev/null 2>&1
      sleep ${LOOK_PAUSE_S} &
      # Where nothing can be run any more, the container ends, rather than ask again at once and for ever.
      wait $! || exit 1
    done
    ;;
esac
`
