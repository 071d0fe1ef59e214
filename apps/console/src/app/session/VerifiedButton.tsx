import type { Call } from '@berth/contract/call'
import { Button, type ButtonProps } from '@mantine/core'
import { type MouseEventHandler, type ReactNode, Suspense } from 'react'
import { lazyPart } from '../lazy-part.ts'
import { useOffFor } from './use-off-for.ts'

const ReasonTooltip = lazyPart(() =>
  import('../../ui/ReasonTooltip.tsx').then(module => module.ReasonTooltip),
)

interface VerifiedButtonProps extends ButtonProps {
  /** What stands behind it, at once or in the dialog that it opens. */
  call: Call
  onClick?: MouseEventHandler<HTMLButtonElement>
  type?: 'button' | 'submit'
  children: ReactNode
  /** Another reason why the button is off; shown as its tooltip. */
  reason?: string | null | undefined
  'aria-label'?: string
}

/**
 * A button for a call: off with a tooltip while the call needs a verified address that the customer does not have
 * (R4.2, R6.3). It stays reachable by keyboard while it is off, so that its reason can be read.
 */
export function VerifiedButton(props: VerifiedButtonProps) {
  const { call, onClick, type = 'button', reason, disabled, children, ...rest } = props
  const offFor = useOffFor(call)
  const why = offFor ?? reason ?? null
  const off = why !== null || disabled === true
  const button = (
    <Button
      {...rest}
      type={off ? 'button' : type}
      {...(off ? { 'data-disabled': true, 'aria-disabled': true } : {})}
      onClick={event => (off ? event.preventDefault() : onClick?.(event))}
    >
      {children}
    </Button>
  )
  if (why === null) return button
  return (
    <Suspense fallback={button}>
      <ReasonTooltip reason={why}>{button}</ReasonTooltip>
    </Suspense>
  )
}
