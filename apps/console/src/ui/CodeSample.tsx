import classes from './CodeSample.module.css'
import { CopyButton } from './CopyText.tsx'

interface CodeSampleProps {
  /** What it is written in, such as `Python`: its name for people who do not see it. */
  label: string
  code: string
  /** What is copied, where that is not what is shown; asked for when the button is pressed. */
  textOf?: () => string
}

/** A program or a command to copy. Its lines are as long as they are written: they scroll, and widen nothing around it. */
export function CodeSample({ label, code, textOf = () => code }: CodeSampleProps) {
  return (
    <section className={classes.code} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus */}
      <pre className="mono" tabIndex={0}>
        {code}
      </pre>
      <CopyButton textOf={textOf} label={label} />
    </section>
  )
}
