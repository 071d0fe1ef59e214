import { type DeployBody, deployBody } from '@berth/contract/instances'
import { watchOffer } from '@berth/contract/offer-watches'
import { IconBell, IconRocket } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type * as z from 'zod'
import { lazyPart } from '../../../app/lazy-part.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { Card } from '../../../ui/Card.tsx'
import type { WatchedOffer } from './WatchDialog.tsx'
import classes from './WatchPart.module.css'

const WatchDialog = lazyPart(() => import('./WatchDialog.tsx').then(module => module.WatchDialog))

interface WatchPartProps {
  offer: WatchedOffer
  /** What the form would send now; null where a field of it breaks a rule, which is then said at the field. */
  read: (form: HTMLFormElement | null) => z.input<typeof deployBody> | null
}

/** What can be done about an offer that is sold out: be told when it is back, or have the form deployed then (B15). */
export function WatchPart({ offer, read }: WatchPartProps) {
  const { t } = useTranslation('watches')
  const [setup, setSetup] = useState<DeployBody | null>(null)
  const [opened, setOpened] = useState(false)
  const open = (next: DeployBody | null) => {
    setSetup(next)
    setOpened(true)
  }
  const { name, region } = offer
  return (
    <div className={classes.part}>
      <Card title={t('sold_out', { name, region })}>
        <p className={classes.lead}>{t('lead')}</p>
        <div className={classes.buttons}>
          <VerifiedButton
            call={watchOffer}
            variant="default"
            leftSection={<IconBell size={16} stroke={1.6} aria-hidden="true" />}
            onClick={() => open(null)}
          >
            {t('mail')}
          </VerifiedButton>
          <VerifiedButton
            call={watchOffer}
            variant="default"
            leftSection={<IconRocket size={16} stroke={1.6} aria-hidden="true" />}
            onClick={event => {
              const body = read(event.currentTarget.form)
              if (body) open(deployBody.parse(body))
            }}
          >
            {t('deploy')}
          </VerifiedButton>
        </div>
      </Card>
      <Suspense>
        {opened && <WatchDialog offer={offer} setup={setup} opened onClose={() => setOpened(false)} />}
      </Suspense>
    </div>
  )
}
