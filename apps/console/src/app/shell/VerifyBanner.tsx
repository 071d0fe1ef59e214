import { APPLICATION, ORGANIZATION, sendVerifyEmail, type User } from '@berth/contract/account'
import { Button } from '@mantine/core'
import { IconMailExclamation } from '@tabler/icons-react'
import { useCallback, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../api/api-error.ts'
import { useChange } from '../../api/use-change.ts'
import { toast } from '../../ui/toast.ts'
import { startWait, waitKey, waitLeft } from '../session/verify-wait.ts'
import classes from './VerifyBanner.module.css'

/** Says that the address is not verified, and sends the mail again; then waits a minute, in every tab (R2.16). */
export function VerifyBanner({ user, mailbox }: { user: User; mailbox: boolean }) {
  const { t } = useTranslation('common')
  const { send, busy } = useChange(sendVerifyEmail)
  const [secondsLeft, wait] = useWait(user.id)

  const resend = async () => {
    try {
      await send({
        body: { email: user.email, application: APPLICATION, organization: ORGANIZATION, method: 'signup' },
      })
      toast.good(t('verify.sent', { email: user.email }))
      wait()
    } catch (error) {
      // The request layer has said why. Where a mail went out a moment ago, at sign-up or from another device, the
      // gateway waits too, and never longer than this.
      if (error instanceof ApiError && error.code === 'verify_mail_wait') wait()
    }
  }

  return (
    <aside className={classes.banner} aria-label={t('verify.label')}>
      <IconMailExclamation size={18} stroke={1.6} className={classes.icon} aria-hidden="true" />
      <p className={classes.text}>
        {t('verify.text', { email: user.email })} {mailbox && <a href="/mailbox">{t('verify.mailbox')}</a>}
      </p>
      <Button size="xs" variant="default" loading={busy} disabled={secondsLeft > 0} onClick={resend}>
        {secondsLeft > 0 ? t('verify.wait', { seconds: secondsLeft }) : t('verify.action')}
      </Button>
    </aside>
  )
}

const TICK_MS = 500

/** Whole seconds that are left of the account's wait, and a function that starts one. */
function useWait(userId: string): [number, () => void] {
  const [left, setLeft] = useState(() => waitLeft(userId, Date.now()))
  const waiting = left > 0
  const look = useCallback(() => setLeft(waitLeft(userId, Date.now())), [userId])
  useEffect(() => {
    // Another tab may have sent the mail.
    const onStorage = (event: StorageEvent) => {
      if (event.key === waitKey(userId) || event.key === null) look()
    }
    look()
    window.addEventListener('storage', onStorage)
    return () => window.removeEventListener('storage', onStorage)
  }, [userId, look])
  useEffect(() => {
    if (!waiting) return
    const timer = setInterval(look, TICK_MS)
    return () => clearInterval(timer)
  }, [waiting, look])
  const start = () => {
    startWait(userId, Date.now())
    look()
  }
  return [Math.ceil(left / 1_000), start]
}
