import type { PaymentMethod } from '@berth/contract/payment-methods'
import { Checkbox } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../../ui/format.ts'
import { expiryOf, useMethodName } from './method-text.ts'
import classes from './PayWith.module.css'
import type { PayWithState } from './use-pay-with.ts'

interface PayWithProps {
  payWith: PayWithState
  /** Where a new card is entered; shown while one is chosen. */
  children: ReactNode
}

/** What a top-up is paid with: one of what is kept, or a new card that is kept only if the customer says so (R3.7). */
export function PayWith({ payWith, children }: PayWithProps) {
  const { t } = useTranslation('methods')
  const { methods, method, choice, choose } = payWith
  const name = useId()
  return (
    <>
      {methods.length > 0 && (
        <fieldset className={classes.choices}>
          <legend className={classes.legend}>{t('pay_with.title')}</legend>
          {methods.map(one => (
            <Saved
              key={one.id}
              name={name}
              method={one}
              isChosen={one.id === method?.id}
              onChoose={() => choose({ ...choice, methodId: one.id })}
            />
          ))}
          <label className={classes.choice}>
            <input
              type="radio"
              name={name}
              checked={method === null}
              onChange={() => choose({ ...choice, methodId: null })}
            />
            <span className={classes.words}>{t('new_card')}</span>
            <span className={classes.second}>{t('pay_with.kept_if')}</span>
          </label>
        </fieldset>
      )}
      {method === null && children}
      {method === null && (
        <Checkbox
          label={t('pay_with.save')}
          description={t('pay_with.save_note')}
          checked={choice.saves}
          onChange={event => choose({ ...choice, saves: event.currentTarget.checked })}
        />
      )}
    </>
  )
}

interface SavedProps {
  name: string
  method: PaymentMethod
  isChosen: boolean
  onChoose: () => void
}

function Saved({ name, method, isChosen, onChoose }: SavedProps) {
  const { t } = useTranslation('methods')
  const format = useFormat()
  const methodName = useMethodName()
  const { expired, refused_at: refusedAt } = method
  const values = { date: expiryOf(method) }
  return (
    <label className={classes.choice}>
      <input type="radio" name={name} checked={isChosen} disabled={expired} onChange={onChoose} />
      <span className={classes.words}>
        {methodName(method)}
        <span className={classes.second} data-warning={expired || refusedAt !== null || undefined}>
          {expired && t('expired', values)}
          {!expired && refusedAt === null && t('expires', values)}
          {!expired && refusedAt !== null && t('refused', { date: format.moment(refusedAt) })}
        </span>
      </span>
      {method.is_default && <span className={classes.pill}>{t('default')}</span>}
    </label>
  )
}
