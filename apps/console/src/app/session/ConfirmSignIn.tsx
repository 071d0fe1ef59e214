import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { loadPage } from '../load-page.ts'
import type { ConfirmSignInDialogProps } from './ConfirmSignInDialog.tsx'
import { answerConfirmation, useConfirmationAsked } from './confirm-sign-in.ts'
import { useSession } from './session.ts'

// Where its code is lost on the way, the call says by itself why it was refused.
const ConfirmSignInDialog = lazy<ComponentType<ConfirmSignInDialogProps>>(() =>
  loadPage(() => import('./ConfirmSignInDialog.tsx')).then(
    module => ({ default: module.ConfirmSignInDialog }),
    () => ({ default: Lost }),
  ),
)

/**
 * Where calls that want a recent sign-in have the customer confirm it; what was typed beneath stays as it is.
 * @param mailbox Mails are kept here, where one can look at them.
 */
export function ConfirmSignIn({ mailbox }: { mailbox: boolean }) {
  const asked = useConfirmationAsked()
  const { user } = useSession()
  useEffect(() => {
    if (!asked) return
    const opener = document.activeElement
    return () => void requestAnimationFrame(() => focusBeneath(opener))
  }, [asked])
  if (!asked || !user) return null
  return (
    <Suspense>
      <ConfirmSignInDialog user={user} mailbox={mailbox} onAnswer={answerConfirmation} />
    </Suspense>
  )
}

/** The form that was interrupted goes on by keyboard too; the button that sent it may be off while it is sent. */
function focusBeneath(opener: Element | null): void {
  if (document.activeElement !== document.body) return
  const beneath = document.querySelector('[role="dialog"]') ?? opener
  if (beneath instanceof HTMLElement) beneath.focus({ preventScroll: true })
}

function Lost() {
  useEffect(() => answerConfirmation(false), [])
  return null
}
