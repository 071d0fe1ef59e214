import { EXIT } from './file-errors.ts'
import { needs, reads } from './run-script.ts'

/** The scripts that change what a machine holds. Each reads its paths first. */

export const MAKE_FOLDER_SCRIPT = `${reads('p')}
if [ -e "$p" ] || [ -L "$p" ]; then exit ${EXIT.exists}; fi
mkdir -p -- "$p"`

/** What is moved onto a folder would go into it, so nothing gives way. */
export const RENAME_SCRIPT = `${reads('p')}
${reads('q')}
[ -e "$p" ] || [ -L "$p" ] || exit ${EXIT.missing}
if [ -e "$q" ] || [ -L "$q" ]; then exit ${EXIT.exists}; fi
mv -- "$p" "$q"`

/** The second line is 1 where a folder goes with what it holds. */
export const REMOVE_SCRIPT = `${reads('p')}
IFS= read -r whole
[ -e "$p" ] || [ -L "$p" ] || exit ${EXIT.missing}
if [ -L "$p" ] || [ ! -d "$p" ]; then exec rm -f -- "$p"; fi
[ "$whole" = 1 ] && exec rm -rf -- "$p"
exec rmdir -- "$p"`

/**
 * Takes a piece of a file: the path, the path of its part, the folder, a line of figures, and then the bytes. Figures:
 * where the piece begins, where it ends, where the file does, when that was written to, whether what stands there gives
 * way, from where the digest counts, and the digest; `-` for none. The file has its name when it is whole. A part that
 * is longer than what was sent is nobody's, and is thrown away.
 */
export const UPLOAD_SCRIPT = `${needs('stat', 'cat')}
${reads('p')}
${reads('q')}
${reads('d')}
IFS=' ' read -r from end size modified replace since digest || exit ${EXIT.cut}
[ -d "$p" ] && exit ${EXIT.wrongKind}
stands() { [ "$replace" = 0 ] && { [ -e "$p" ] || [ -L "$p" ]; }; }
stands && exit ${EXIT.exists}
[ -e "$d" ] && [ ! -d "$d" ] && exit ${EXIT.wrongKind}
[ -d "$d" ] || mkdir -p -- "$d" || exit
have=0; [ -f "$q" ] && [ ! -L "$q" ] && have=$(stat -c %s -- "$q")
if [ "$from" = 0 ]; then rm -f -- "$q"; : >"$q" || exit; elif [ "$have" != "$from" ]; then exit ${EXIT.outOfStep}; fi
cat >>"$q" || exit
have=$(stat -c %s -- "$q") || exit
[ "$have" -gt "$end" ] && { rm -f -- "$q"; exit ${EXIT.damaged}; }
[ "$have" = "$end" ] || exit ${EXIT.cut}
if [ "$digest" != - ] && command -v sha256sum >/dev/null 2>&1; then
got=$(tail -c +$((since + 1)) <"$q" | sha256sum); [ "\${got%% *}" = "$digest" ] || { rm -f -- "$q"; exit ${EXIT.damaged}; }
fi
[ "$end" = "$size" ] || exit 0
[ -f "$p" ] && chmod "$(stat -L -c %a -- "$p")" "$q"
touch -c -m -d "@$modified" "$q" 2>/dev/null
stands && exit ${EXIT.exists}
mv -f -- "$q" "$p"`

/**
 * Gives a file from a place in it on, behind a line that says its size, its time and the place; or a folder as an
 * archive, behind a line that says so. Figures: the place, and which size and time it holds for; for others it is 0.
 */
export const DOWNLOAD_SCRIPT = `${reads('p')}
IFS=' ' read -r from size modified
if [ -d "$p" ]; then
${needs('tar')}
cd -- "$p/.." && name=\${p##*/} || exit
echo folder
exec tar -cf - -- "./$name" 2>/dev/null
fi
[ -e "$p" ] || exit ${EXIT.missing}
[ -f "$p" ] || exit ${EXIT.wrongKind}
[ -r "$p" ] || { echo permission denied >&2; exit 1; }
${needs('stat', 'tail', 'cat')}
now=$(stat -L -c '%s %Y' -- "$p") || exit
[ "$size" = - ] || [ "$size $modified" = "$now" ] || from=0
echo "file $now $from"
if [ "$from" = 0 ]; then exec cat <"$p"; fi
exec tail -c +$((from + 1)) <"$p"`
