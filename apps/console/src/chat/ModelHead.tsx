import type { Model } from '@berth/contract/models'
import { ActionIcon } from '@mantine/core'
import { IconChevronDown, IconX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'
import classes from './ModelHead.module.css'

interface ModelHeadProps {
  model: Model
  /** All that there are to choose from. */
  models: readonly Model[]
  /** Those of the other columns: the same one is not asked twice (R5.10). */
  taken: readonly Model[]
  /** Tokens of its context that the conversation has, as far as it is known. */
  usedTokens: number | null
  onChange: (id: string) => void
  /** Left out where it is the only one. */
  onRemove?: (() => void) | undefined
}

/** The head of a column: which model answers in it, at what price, and how much of its context is used. */
export function ModelHead({ model, models, taken, usedTokens, onChange, onRemove }: ModelHeadProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const money = (micro: string) => format.exactMoney(micro, readCurrency())
  return (
    <div className={classes.head}>
      <div className={classes.who}>
        <span className={classes.pick}>
          <select
            className={classes.select}
            aria-label={t('head.model')}
            value={model.id}
            onChange={event => onChange(event.currentTarget.value)}
          >
            {models.map(({ id, name }) => (
              <option key={id} value={id} disabled={taken.some(one => one.id === id)}>
                {name}
              </option>
            ))}
          </select>
          <IconChevronDown size={14} stroke={1.8} aria-hidden="true" className={classes.chevron} />
        </span>
        <span className={classes.second}>{model.demo ? t('head.demo') : model.vendor}</span>
      </div>
      <div className={classes.facts}>
        <span className={classes.price}>
          {t('head.price', {
            input: money(model.input_micro_per_million),
            output: money(model.output_micro_per_million),
          })}
        </span>
        <span className={classes.second}>
          {usedTokens === null
            ? t('head.context', { limit: format.number(model.context_tokens) })
            : t('head.used', {
                used: format.number(usedTokens),
                limit: format.number(model.context_tokens),
              })}
        </span>
      </div>
      {onRemove && (
        <ActionIcon
          color="gray"
          size="sm"
          aria-label={t('head.remove', { name: model.name })}
          title={t('head.remove', { name: model.name })}
          onClick={onRemove}
        >
          <IconX size={15} stroke={1.6} />
        </ActionIcon>
      )}
    </div>
  )
}
