import {
  chooseSettlement,
  type ReferralQuarter,
  type ReferralSummary,
  type RewardType,
  resendPaypalMail,
} from '@berth/contract/referral'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { ChoiceFields, quarterParts } from './ChoiceFields.tsx'
import { PaypalDialog } from './PaypalDialog.tsx'
import classes from './SettlementCard.module.css'
import { SettlementDialog } from './SettlementDialog.tsx'
import { useCents } from './use-cents.ts'

interface SettlementCardProps {
  summary: ReferralSummary
  /** The quarter that has ended of which it is asked how it is settled; null: of none. */
  asked: ReferralQuarter | null
  onAsk: (quarter: ReferralQuarter | null) => void
}

/** What the quarter that runs comes to and how it is settled, and quarters that wait for a choice (R2.28, R9.7). */
export function SettlementCard({ summary, asked, onAsk }: SettlementCardProps) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const cents = useCents(summary.currency)
  const { quarter, terms, paypal, to_choose } = summary
  /** Open for its own sake, or because money was chosen, which needs it. */
  const [paypalFor, setPaypalFor] = useState<'itself' | 'cash' | null>(null)
  const choose = useChange(chooseSettlement)
  const off = useOffFor(chooseSettlement)
  const pick = async (reward_type: RewardType) => {
    await choose.send({ params: { quarter: quarter.quarter }, body: { reward_type } })
    toast.good(t('chosen', { way: t(reward_type) }))
  }
  const money = (micro: string) => format.money(micro, quarter.currency)
  return (
    <Card title={t('settlement')} aside={t('closes', { date: format.date(lastDayOf(quarter)) })}>
      <p className={classes.amount}>
        <strong>{money(quarter.amount_micro)}</strong>{' '}
        <span className={classes.hint}>
          {quarter.carried_in_micro === '0'
            ? t('so_far', { amount: money(quarter.total_earnings_micro) })
            : t('so_far_and_carried', {
                amount: money(quarter.total_earnings_micro),
                carried: money(quarter.carried_in_micro),
              })}
        </span>
      </p>
      {to_choose.map(ended => (
        <div key={ended.quarter} className={classes.waiting} role="status">
          <span>
            <strong>
              {t('to_settle', {
                quarter: t('quarter_name', quarterParts(ended.quarter)),
                amount: money(ended.amount_micro),
              })}
            </strong>{' '}
            {ended.choose_until && t('choose_until', { date: format.date(ended.choose_until) })}
          </span>
          <VerifiedButton call={chooseSettlement} size="compact-sm" onClick={() => onAsk(ended)}>
            {t('choose')}
          </VerifiedButton>
        </div>
      ))}
      <ChoiceFields
        quarter={quarter}
        terms={terms}
        paypal={paypal}
        value={quarter.reward_type ?? 'bonus'}
        disabled={choose.busy || off !== null}
        onChange={type =>
          type === 'cash' && paypal === null ? setPaypalFor('cash') : void pick(type).catch(told)
        }
        onPaypal={() => setPaypalFor('itself')}
      />
      <PaypalNote summary={summary} />
      <p className={classes.note}>
        {BigInt(quarter.amount_micro) < BigInt(terms.threshold) * 10_000n
          ? t('below', { amount: cents(terms.threshold) })
          : quarter.choose_until && t('yours_until', { date: format.date(quarter.choose_until) })}
      </p>
      <SettlementDialog
        quarter={asked}
        summary={summary}
        onClose={() => onAsk(null)}
        onPaypal={() => setPaypalFor('itself')}
      />
      <PaypalDialog
        summary={summary}
        opened={paypalFor !== null}
        onClose={() => setPaypalFor(null)}
        onSaved={() => paypalFor === 'cash' && void pick('cash').catch(told)}
      />
    </Card>
  )
}

/** That the PayPal account is not confirmed yet, with another mail; or until when it stays as it is. */
function PaypalNote({ summary: { paypal, terms } }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const resend = useChange(resendPaypalMail)
  if (paypal === null) return null
  if (paypal.frozen_until) {
    return <p className={classes.note}>{t('frozen', { date: format.moment(paypal.frozen_until) })}</p>
  }
  if (paypal.state === 'confirmed') return null
  return (
    <div className={classes.waiting} role="status">
      <span>
        <strong>{t('unconfirmed')}</strong>{' '}
        {t('unconfirmed_hint', {
          hours: terms.paypal_frozen_hours,
          date: format.moment(paypal.mail_sent_at),
        })}
      </span>
      <VerifiedButton
        call={resendPaypalMail}
        variant="default"
        size="compact-sm"
        loading={resend.busy}
        onClick={() =>
          void resend
            .send({})
            .then(() => toast.good(t('mail_sent', { account: paypal.paypal_account })))
            .catch(told)
        }
      >
        {t('send_again')}
      </VerifiedButton>
    </div>
  )
}

/** The quarter's last day of UTC. */
function lastDayOf({ until }: ReferralQuarter): string {
  return new Date(Date.parse(until) - 1).toISOString().slice(0, 10)
}
