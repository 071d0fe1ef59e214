import { Tooltip } from '@mantine/core'
import classes from './SimulatedTag.module.css'

/** What the tag means. It covers the tag, lets the pointer through, and floats from there. */
export function SimulatedTooltip({ hint, shown }: { hint: string; shown: boolean }) {
  return (
    <Tooltip label={hint} opened={shown} multiline>
      <span className={classes.anchor} aria-hidden="true" />
    </Tooltip>
  )
}
