import { StringDecoder } from 'node:string_decoder'

/** What is kept of a line that has no end: a longer one is given in parts. */
const LINE_CHARS_MAX = 64 * 1024

/**
 * Makes lines out of what a machine wrote, in whatever pieces it comes, with all that is in them.
 * @param onLine Told each line, without the line feed that ends it.
 */
export function createLineSplitter(onLine: (line: string) => void) {
  const decoder = new StringDecoder('utf8')
  let open = ''
  return {
    add(bytes: Buffer): void {
      const [rest = '', ...begun] = decoder.write(bytes).split('\n')
      open += rest
      for (const next of begun) {
        onLine(open)
        open = next
      }
      for (; open.length > LINE_CHARS_MAX; open = open.slice(LINE_CHARS_MAX)) {
        onLine(open.slice(0, LINE_CHARS_MAX))
      }
    },
    /** Gives what no line feed has ended. To be called once, when there is no more. */
    end(): void {
      open += decoder.end()
      if (open !== '') onLine(open)
      open = ''
    },
  }
}
