import type { InstanceStatus } from '@berth/contract/instance-states'
import type { ReactNode } from 'react'
import classes from './StatusBadge.module.css'

/** What a status looks like: a shape and a tone, so that colour never says it alone. */
export interface StatusLook {
  shape: 'dot' | 'ring' | 'spinner' | 'dash' | 'cross'
  tone: 'good' | 'info' | 'warning' | 'bad' | 'quiet'
}

/** Total over the statuses: a new one does not compile until it has a look. */
export const INSTANCE_STATUS_LOOKS: Record<InstanceStatus, StatusLook> = {
  running: { shape: 'dot', tone: 'good' },
  restarting: { shape: 'spinner', tone: 'info' },
  stopped: { shape: 'ring', tone: 'quiet' },
  stopping: { shape: 'spinner', tone: 'quiet' },
  exited: { shape: 'ring', tone: 'warning' },
  pulling: { shape: 'spinner', tone: 'info' },
  imageBuilding: { shape: 'spinner', tone: 'info' },
  error: { shape: 'cross', tone: 'bad' },
  creating: { shape: 'spinner', tone: 'info' },
  deleting: { shape: 'spinner', tone: 'quiet' },
  unknown: { shape: 'dash', tone: 'warning' },
}

interface StatusBadgeProps {
  look: StatusLook
  /** The status in a word. */
  label: string
  /** Why, or how far: the line under it. */
  reason?: ReactNode
}

/** A status: a shape and a word, with the reason under it. */
export function StatusBadge({ look, label, reason }: StatusBadgeProps) {
  return (
    <span className={classes.badge} data-tone={look.tone}>
      <span className={classes.shape} data-shape={look.shape} aria-hidden="true" />
      <span className={classes.words}>
        <span className={classes.label}>{label}</span>
        {reason && <span className={classes.reason}>{reason}</span>}
      </span>
    </span>
  )
}
