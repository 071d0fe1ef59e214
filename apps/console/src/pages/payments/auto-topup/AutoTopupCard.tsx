import { type AutoTopup, getAutoTopup, setAutoTopup } from '@berth/contract/auto-topup'
import { AUTO_TOPUP_DECLINES_MAX } from '@berth/contract/limits'
import { Switch } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { told, useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { useCardText } from '../../../receipts/card-text.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './AutoTopupCard.module.css'

const AutoTopupDialog = lazyPart(() => import('./AutoTopupDialog.tsx').then(module => module.AutoTopupDialog))

/** What tops the balance up by itself (R3.9): what it does, its cap, what stopped it, and the form that sets it. */
export function AutoTopupCard() {
  const { t } = useTranslation(['methods', 'errors'])
  const query = useQuery({ ...queryOf(getAutoTopup, {}), refetchInterval: REFRESH_MS })
  const editing = useAsked<AutoTopup>()
  const auto = query.data
  // Nothing that could be charged is kept.
  const lacks = auto?.card === null && !auto.enabled ? t('errors:payment_method_required') : null
  return (
    <>
      <Card
        title={t('auto.title')}
        aside={auto && <OnOff auto={auto} lacks={lacks} onTurnOn={() => editing.ask(auto)} />}
      >
        <Answer query={query} data={auto} rows={3}>
          {settings => (
            <div className={classes.parts}>
              <WhatItDoes auto={settings} />
              <WhatStopsIt auto={settings} />
              <div className={classes.foot}>
                <VerifiedButton
                  call={setAutoTopup}
                  size="xs"
                  variant="default"
                  reason={lacks}
                  onClick={() => editing.ask(settings)}
                >
                  {t(settings.enabled ? 'auto.change' : 'auto.set_up')}
                </VerifiedButton>
                <Charged auto={settings} />
              </div>
            </div>
          )}
        </Answer>
      </Card>
      <Suspense>
        {editing.what && (
          <AutoTopupDialog auto={editing.what} opened={editing.opened} onClose={editing.close} />
        )}
      </Suspense>
    </>
  )
}

interface OnOffProps {
  auto: AutoTopup
  /** Why it cannot be turned on; the button below says so too. */
  lacks: string | null
  onTurnOn: () => void
}

/** Turns it off at once; turning it on asks first how much it may charge. */
function OnOff({ auto, lacks, onTurnOn }: OnOffProps) {
  const { t } = useTranslation('methods')
  const set = useChange(setAutoTopup)
  const offFor = useOffFor(setAutoTopup)
  const turnOff = async () => {
    const { threshold, amount, monthly_cap, payment_method_id } = auto
    await set.send({ body: { enabled: false, threshold, amount, monthly_cap, payment_method_id } })
    toast.good(t('auto.turned_off'))
  }
  return (
    <Switch
      withThumbIndicator={false}
      // It is named by the card's title, and stands at its edge.
      styles={{ labelWrapper: { display: 'none' } }}
      aria-label={t('auto.title')}
      checked={auto.enabled}
      disabled={offFor !== null || lacks !== null || set.busy}
      onChange={() => (auto.enabled ? void turnOff().catch(told) : onTurnOn())}
    />
  )
}

function WhatItDoes({ auto }: { auto: AutoTopup }) {
  const { t } = useTranslation('methods')
  const format = useFormat()
  const cardText = useCardText()
  if (!auto.enabled) return <p className={classes.text}>{t('auto.off')}</p>
  const values = {
    threshold: format.cents(auto.threshold, auto.currency),
    amount: format.cents(auto.amount, auto.currency),
    card: cardText(auto.card),
    declines: AUTO_TOPUP_DECLINES_MAX,
  }
  return <p className={classes.text}>{t('auto.does', values)}</p>
}

/** The pause it is in, or the end that it came to, and the last refusal since a charge succeeded. */
function WhatStopsIt({ auto }: { auto: AutoTopup }) {
  const { t } = useTranslation(['methods', 'errors'])
  const format = useFormat()
  const cardText = useCardText()
  const { status, refused_at: refusedAt, refused_for: refusedFor, next_try_at: next } = auto
  const until = next === null ? '' : format.moment(next)
  const lines = [
    refusedAt !== null &&
      t('auto.refused', { date: format.moment(refusedAt), card: cardText(auto.refused_card) }),
    refusedAt !== null && refusedFor !== null && t(`errors:${refusedFor as 'card_declined'}`),
    status === 'charging' && t('auto.charging'),
    status === 'backing_off' && t('auto.backing_off', { date: until }),
    status === 'capped' && t('auto.capped', { date: until }),
    status === 'declined' && t('auto.declined', { declines: AUTO_TOPUP_DECLINES_MAX }),
  ].filter(line => line !== false)
  if (lines.length === 0) return null
  return (
    <p className={classes.note} data-calm={(refusedAt === null && status === 'charging') || undefined}>
      <IconAlertTriangle size={16} aria-hidden="true" />
      <span>{lines.join(' ')}</span>
    </p>
  )
}

function Charged({ auto }: { auto: AutoTopup }) {
  const { t } = useTranslation('methods')
  const format = useFormat()
  const { enabled, charged_this_month: charged, monthly_cap: cap, currency } = auto
  if (!enabled && charged === 0) return null
  return (
    <span className={classes.charged}>
      {t('auto.charged', { charged: format.cents(charged, currency), cap: format.cents(cap, currency) })}
    </span>
  )
}
