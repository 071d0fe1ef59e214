import type { ReactNode } from 'react'

/** A line with what is searched for marked, wherever it stands. */
export function Marked({ line, wanted }: { line: string; wanted: string }): ReactNode {
  const plain = line.toLowerCase()
  const sought = wanted.toLowerCase()
  const parts: ReactNode[] = []
  let from = 0
  // Where a letter changes its length with its case, places are of another text: then nothing is marked.
  if (plain.length !== line.length) return line
  for (let at = plain.indexOf(sought); at >= 0; at = plain.indexOf(sought, from)) {
    parts.push(line.slice(from, at), <mark key={at}>{line.slice(at, at + sought.length)}</mark>)
    from = at + sought.length
  }
  return [...parts, line.slice(from)]
}
