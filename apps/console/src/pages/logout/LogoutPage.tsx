import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { HOME_PATH } from '../../app/session/redirect-target.ts'
import { session, useSession } from '../../app/session/session.ts'
import classes from './LogoutPage.module.css'

/** Asks before it logs out, so that a link from elsewhere cannot end a session (R2.2, R2.14). */
export function Page() {
  const { t } = useTranslation('common')
  const { isLoggedIn } = useSession()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    if (isLoggedIn === false) location.replace('/auth')
  }, [isLoggedIn])
  const leave = () => {
    setBusy(true)
    void session().signOut()
  }
  return (
    <GuestCard path="/logout" title={t('logout.title')}>
      <p className={classes.text}>{t('logout.text')}</p>
      <div className={classes.buttons}>
        <Button onClick={leave} loading={busy}>
          {t('logout.confirm')}
        </Button>
        <Button component="a" href={HOME_PATH} variant="default">
          {t('logout.stay')}
        </Button>
      </div>
    </GuestCard>
  )
}
