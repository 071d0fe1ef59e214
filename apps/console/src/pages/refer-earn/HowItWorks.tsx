import type { ReferralSummary } from '@berth/contract/referral'
import { useTranslation } from 'react-i18next'
import { Card } from '../../ui/Card.tsx'
import classes from './HowItWorks.module.css'
import { useCents } from './use-cents.ts'

/** The three steps (R2.28). */
export function HowItWorks({ summary: { currency, terms } }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const cents = useCents(currency)
  const steps = [
    { name: t('step_link'), text: t('step_link_text') },
    {
      name: t('step_topup', { amount: cents(terms.first_topup) }),
      text: t('step_topup_text', { mine: cents(terms.reward), theirs: cents(terms.friend_reward) }),
    },
    { name: t('step_rebate', { rate: terms.rebate_rate }), text: t('step_rebate_text') },
  ]
  return (
    <Card title={t('how')}>
      <ol className={classes.steps}>
        {steps.map(({ name, text }) => (
          <li key={name}>
            <span>{name}</span>
            <span className={classes.text}>{text}</span>
          </li>
        ))}
      </ol>
    </Card>
  )
}
