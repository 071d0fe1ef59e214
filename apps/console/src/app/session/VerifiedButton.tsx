import { Button, type ButtonProps } from '@mantine/core'
import { lazy, type MouseEventHandler, type ReactNode, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from './session.ts'

const ReasonTooltip = lazy(() =>
  import('../../ui/ReasonTooltip.tsx').then(module => ({ default: module.ReasonTooltip })),
)

interface VerifiedButtonProps extends ButtonProps {
  onClick?: MouseEventHandler<HTMLButtonElement>
  type?: 'button' | 'submit'
  children: ReactNode
  /** Another reason why the button is off; shown as its tooltip. */
  reason?: string | null | undefined
  'aria-label'?: string
}

/**
 * A button for what needs a verified address (R4.2, R6.3): off with a tooltip until then. It stays reachable by
 * keyboard while it is off, so that its reason can be read.
 */
export function VerifiedButton(props: VerifiedButtonProps) {
  const { onClick, type = 'button', reason, disabled, children, ...rest } = props
  const { t } = useTranslation('errors')
  const { user } = useSession()
  const why = user && !user.emailVerified ? t('account_not_activated') : (reason ?? null)
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
