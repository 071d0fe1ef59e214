import type { Connection } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { CopyText } from '../ui/CopyText.tsx'
import classes from './Ways.module.css'

/** What the agent in a virtual machine says: its system, and the addresses that it has there. */
export function GuestPart({ guest }: { guest: NonNullable<Connection['guest']> }) {
  const { t } = useTranslation('instances')
  return (
    <>
      <p className={classes.hint}>
        {guest.os ? t('connect.guest_os', { os: guest.os }) : t('connect.guest_word')}
      </p>
      {guest.addresses.map(({ interface: name, address }) => (
        <div key={`${name} ${address}`} className={classes.row}>
          <span className={classes.port}>{name}</span>
          <div className={classes.address}>
            <CopyText mono value={address} label={t('connect.guest_address', { name })} />
          </div>
        </div>
      ))}
    </>
  )
}
