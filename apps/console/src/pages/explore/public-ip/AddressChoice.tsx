import { PUBLIC_IP_TYPES, type PublicIpType } from '@berth/contract/public-ip'
import { getPublicIpPrice } from '@berth/contract/public-ip-calls'
import { Input } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import fold from '../../../machine-form/Fold.module.css'
import { useFormat } from '../../../ui/format.ts'
import classes from './AddressChoice.module.css'

const REFRESH_MS = 15_000

interface AddressChoiceProps {
  /** Where the machine is to be. */
  region: string
  /** The form's field: which is chosen, and what is wrong with that. */
  field: {
    value?: PublicIpType
    onChange: (type: PublicIpType) => void
    error?: ReactNode
    'data-path'?: string
  }
}

/** Where TCP and UDP ports are reached: at the address of all, or at one that no other instance has, with its price (R2.25). */
export function AddressChoice({ region, field }: AddressChoiceProps) {
  const { t } = useTranslation('public-ip')
  const format = useFormat()
  const name = useId()
  const errorId = useId()
  const { value = PUBLIC_IP_TYPES[0], onChange, error } = field
  const { data } = useQuery({
    ...queryOf(getPublicIpPrice, { query: { region_code: region } }),
    enabled: region !== '',
    refetchInterval: REFRESH_MS,
  })
  const costs = {
    shared: data && format.rate('0', data.currency, 'h'),
    dedicated: data && format.rate(data.rate_micro_per_hour, data.currency, 'h', true),
  }
  const isNone = data?.available === 0
  const stock = data && (data.total === 0 ? t('choice.none') : t('choice.free', { count: data.available }))
  return (
    <div className={fold.wide}>
      <fieldset className={classes.choice} aria-describedby={error ? errorId : undefined}>
        <legend className={classes.legend}>{t('choice.label')}</legend>
        {PUBLIC_IP_TYPES.map(type => (
          <label key={type} className={classes.card} data-chosen={type === value || undefined}>
            <input
              type="radio"
              name={name}
              value={type}
              checked={type === value}
              // What is wrong is said here, and the focus comes to what was chosen.
              data-path={type === value ? field['data-path'] : undefined}
              aria-invalid={(type === value && Boolean(error)) || undefined}
              // What was chosen before it was sold out is said by the checks, and can be taken back.
              disabled={type === 'dedicated' && isNone && value !== 'dedicated'}
              onChange={() => onChange(type)}
            />
            <span className={classes.words}>
              <span className={classes.head}>
                <span>{t(`choice.${type}`)}</span>
                <span className={classes.cost}>{costs[type]}</span>
              </span>
              <span className={classes.note}>{t(`choice.${type}_note`)}</span>
              {type === 'dedicated' && stock && (
                <span className={classes.note} data-none={isNone || undefined}>
                  {stock}
                </span>
              )}
            </span>
          </label>
        ))}
      </fieldset>
      {error && <Input.Error id={errorId}>{error}</Input.Error>}
    </div>
  )
}
