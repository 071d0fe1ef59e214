import type { PaypalAccount, ReferralQuarter, ReferralTerms, RewardType } from '@berth/contract/referral'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './ChoiceFields.module.css'

interface ChoiceFieldsProps {
  quarter: ReferralQuarter
  terms: ReferralTerms
  paypal: PaypalAccount | null
  value: RewardType
  disabled?: boolean
  onChange: (type: RewardType) => void
  /** Says, or changes, where money goes; left out where the form is open already. */
  onPaypal?: () => void
}

/** How a quarter is settled: both ways, each with what arrives after its fee (R9.7). */
export function ChoiceFields(props: ChoiceFieldsProps) {
  const { quarter, terms, paypal, value, disabled = false, onChange, onPaypal } = props
  const { t } = useTranslation('refer')
  const format = useFormat()
  const name = useId()
  const money = (micro: string) => format.money(micro, quarter.currency)
  const options = [
    {
      type: 'bonus' as const,
      name: t('bonus'),
      amount: t('credits', { amount: money(quarter.bonus_micro) }),
      second: t('bonus_hint'),
    },
    {
      type: 'cash' as const,
      name: t('cash'),
      amount: t('paid_out', { amount: money(quarter.cash_micro) }),
      second: t('cash_hint', {
        rate: terms.cash_fee_rate,
        fee: format.money(-BigInt(quarter.cash_fee_micro), quarter.currency),
      }),
    },
  ]
  return (
    <fieldset className={classes.choices} disabled={disabled}>
      <legend className="said">
        {t('choose_of', { quarter: t('quarter_name', quarterParts(quarter.quarter)) })}
      </legend>
      {options.map(option => (
        <label key={option.type} className={classes.choice} data-chosen={option.type === value || undefined}>
          <input
            type="radio"
            name={name}
            value={option.type}
            checked={option.type === value}
            onChange={() => onChange(option.type)}
          />
          <span className={classes.words}>
            <span className={classes.line}>
              <span>{option.name}</span>
              <span className="tabular">{option.amount}</span>
            </span>
            <span className={classes.hint}>
              {option.second}
              {option.type === 'cash' && (
                <>
                  {' '}
                  {paypal
                    ? t(paypal.state === 'confirmed' ? 'to_confirmed' : 'to_account', {
                        account: paypal.paypal_account,
                      })
                    : t('no_account')}{' '}
                  {onPaypal && (
                    <LinkButton onClick={onPaypal}>{t(paypal ? 'change' : 'add_paypal')}</LinkButton>
                  )}
                </>
              )}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

/** `2026-Q4` as the parts of its name. */
export function quarterParts(quarter: string): { year: string; number: string } {
  const [year = '', name = ''] = quarter.split('-')
  return { year, number: name.slice(1) }
}
