import type { LogMatch } from '@berth/contract/instance-page'
import { useFormat } from '../../ui/format.ts'
import classes from './LogMatches.module.css'
import { Marked } from './Marked.tsx'

interface LogMatchesProps {
  /** What is shown, for screen readers. */
  label: string
  matches: readonly LogMatch[]
  /** What was searched for; it is marked where it stands. */
  wanted: string
}

/** Lines of a log that have what was searched for, each with those around it. */
export function LogMatches({ label, matches, wanted }: LogMatchesProps) {
  const format = useFormat()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
    <section className={`${classes.box} mono`} aria-label={label} tabIndex={0}>
      <ol className={classes.matches}>
        {matches.map(({ line, text, before, after }) => (
          <li key={line} className={classes.match}>
            {[...before, text, ...after].map((said, index) => {
              const number = line - before.length + index
              return (
                <div key={number} className={classes.line} data-around={number === line ? undefined : true}>
                  <span className={classes.number}>{format.number(number)}</span>
                  <span>{number === line ? <Marked line={said} wanted={wanted} /> : said}</span>
                </div>
              )
            })}
          </li>
        ))}
      </ol>
    </section>
  )
}
