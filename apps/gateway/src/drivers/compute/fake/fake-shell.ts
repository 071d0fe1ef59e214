import type { PtyEvents, PtyProcess, Size } from '../sessions/session.ts'

const PROMPT = '# '
const HANGUP_CODE = 129
let shells = 0

/**
 * A shell that is none: it echoes what is typed and knows `echo` (with `$$` for its own number, and names of its
 * environment), `stty size` and `exit`.
 */
export function openFakeShell(
  { env, ...first }: Size & { env: Record<string, string> },
  events: PtyEvents,
): PtyProcess {
  shells += 1
  const number = shells
  let size: Size = first
  let typed = ''
  let over = false
  const say = (text: string) => {
    if (!over) events.onData(Buffer.from(text))
  }
  const exit = (code: number) => {
    if (over) return
    over = true
    events.onEnd(code)
  }
  const run = (line: string) => {
    const [program, ...words] = line.split(' ').filter(word => word !== '')
    if (program === 'exit') return exit(Number(words[0] ?? 0))
    if (program === 'echo') say(`${words.map(expand).join(' ')}\r\n`)
    else if (program === 'stty') say(`${size.rows} ${size.cols}\r\n`)
    else if (program !== undefined) say(`${program}: not found\r\n`)
    say(PROMPT)
  }
  const expand = (word: string) =>
    word.replaceAll('$$', () => String(number)).replaceAll(/\$(\w+)/g, (_, name: string) => env[name] ?? '')
  // Whoever waits for the shell is there first, as it is with real ones.
  setImmediate(() => say(PROMPT))
  return {
    write: data => {
      for (const character of data.toString()) {
        if (character !== '\r' && character !== '\n') {
          typed += character
          say(character)
          continue
        }
        say('\r\n')
        run(typed)
        typed = ''
      }
      return true
    },
    resize: (cols, rows) => {
      size = { cols, rows }
    },
    pause: () => undefined,
    resume: () => undefined,
    hangUp: () => exit(HANGUP_CODE),
  }
}
