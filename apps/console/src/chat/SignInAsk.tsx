import { useLocation } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { wayToSignIn } from '../app/way-to-sign-in.ts'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'

interface SignInAskProps {
  /** What for, as a question; left out: to send what was typed. */
  title?: string
  onClose: () => void
}

/** Asks a guest who sends something to sign in first; what was typed is there when they come back. */
export function SignInAsk({ title, onClose }: SignInAskProps) {
  const { t } = useTranslation('chat')
  const { href } = useLocation()
  return (
    <ConfirmDialog
      opened
      title={title ?? t('guest.title')}
      confirmLabel={t('guest.log_in')}
      onConfirm={() => window.location.assign(wayToSignIn('login', href))}
      onClose={onClose}
    >
      <p>{t('guest.text')}</p>
      <p>
        <a href={wayToSignIn('signup', href)}>{t('guest.sign_up')}</a>
      </p>
    </ConfirmDialog>
  )
}
