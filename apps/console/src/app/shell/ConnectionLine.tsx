import { Button } from '@mantine/core'
import { IconCloudOff } from '@tabler/icons-react'
import { useState, useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { connection } from '../../api/connection.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './VerifyBanner.module.css'

/** Since when the gateway does not answer, in milliseconds since 1970; null while it does. */
export function useLostSince(): number | null {
  return useSyncExternalStore(connection.subscribe, connection.lostSince)
}

/** Stands while the gateway cannot be reached: since when, that what is shown is of before, and a way to ask at once. */
export function ConnectionLine() {
  const { t } = useTranslation('common')
  const format = useFormat()
  const since = useLostSince()
  const [looking, setLooking] = useState(false)
  const look = async () => {
    setLooking(true)
    await connection.look()
    setLooking(false)
  }
  return (
    <div role="status">
      {since !== null && (
        <div className={classes.banner}>
          <IconCloudOff size={18} stroke={1.6} className={classes.icon} aria-hidden="true" />
          <p className={classes.text}>
            <strong>{t('connection.lost', { time: format.moment(new Date(since)) })}</strong>{' '}
            {t('connection.stale')}
          </p>
          <Button size="xs" variant="default" loading={looking} onClick={() => void look()}>
            {t('connection.look')}
          </Button>
        </div>
      )}
    </div>
  )
}
