import { APPLICATION, ORGANIZATION, sendVerifyEmail, type User } from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { Button } from '@mantine/core'
import { IconMailExclamation } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../../api/client.ts'
import { toast } from '../../ui/toast.ts'
import classes from './VerifyBanner.module.css'

/** Says that the address is not verified, and sends the mail again; then waits a minute (R2.16). */
export function VerifyBanner({ user, mailbox }: { user: User; mailbox: boolean }) {
  const { t } = useTranslation('common')
  const [busy, setBusy] = useState(false)
  const [secondsLeft, startWait] = useCountdown()

  const resend = async () => {
    setBusy(true)
    try {
      await request(sendVerifyEmail, {
        body: { email: user.email, application: APPLICATION, organization: ORGANIZATION, method: 'signup' },
      })
      toast.good(t('verify.sent', { email: user.email }))
      startWait(ACTIVATION_RESEND_WAIT_MS)
    } catch {
      // The request layer has said why.
    } finally {
      setBusy(false)
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

/** Whole seconds until a wait is over, and a function that starts one. */
function useCountdown(): [number, (ms: number) => void] {
  const [until, setUntil] = useState(0)
  const [left, setLeft] = useState(0)
  useEffect(() => {
    if (until === 0) return
    const tick = () => setLeft(Math.max(0, Math.ceil((until - performance.now()) / 1_000)))
    tick()
    const timer = setInterval(tick, 500)
    return () => clearInterval(timer)
  }, [until])
  return [left, ms => setUntil(performance.now() + ms)]
}
