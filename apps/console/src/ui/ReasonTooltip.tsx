import { Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'

/** Why a part is off, by pointer, focus or touch. Load it lazily: what floats is heavy. */
export function ReasonTooltip({ reason, children }: { reason: string; children: ReactElement }) {
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }}>
      {children}
    </Tooltip>
  )
}
