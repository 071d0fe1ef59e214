import { CHAT_KINDS, type Model } from '@berth/contract/models'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { abilitiesOf } from '../../models/model-abilities.ts'
import { useModelFigures } from '../../models/use-model-figures.ts'
import { useModelWords } from '../../models/use-model-words.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './ModelFacts.module.css'

/** What a model costs, how much it takes, what it can do, and how it has answered here. */
export function ModelFacts({ model }: { model: Model }) {
  const { t } = useTranslation('models')
  const format = useFormat()
  const words = useModelWords()
  const figures = useModelFigures().get(model.id)
  const { first, rate } = words.speed(figures)
  const answered = words.answered(figures)
  const unknown = <span className={classes.unknown}>{t('not_measured')}</span>
  const { kind, free_calls_per_day: free } = model
  return (
    <Card title={t('one.facts')}>
      <dl className={classes.facts}>
        <Fact name={t('columns.price')}>
          {words.prices(model).map(price => (
            <span key={price} className={classes.line}>
              {price}
            </span>
          ))}
          {model.cached_micro_per_million !== model.input_micro_per_million && (
            <span className={classes.line}>{words.cached(model)}</span>
          )}
          {free > 0 && (
            <span className={classes.line}>{t('one.free', { count: free, calls: format.number(free) })}</span>
          )}
        </Fact>
        <Fact name={t('one.limit')}>
          <span className={classes.line}>{words.limit(model)}</span>
          {CHAT_KINDS.includes(kind) && (
            <span className={classes.line}>
              {t('one.output', { tokens: format.number(model.output_tokens_max) })}
            </span>
          )}
        </Fact>
        {abilitiesOf(model).length > 0 && (
          <Fact name={t('filters.can')}>
            {abilitiesOf(model).map(ability => (
              <span key={ability} className={classes.line}>
                {words.can(ability)}
              </span>
            ))}
          </Fact>
        )}
        <Fact name={t('columns.speed')}>
          <span className={classes.line}>{first ?? unknown}</span>
          {rate !== null && <span className={classes.line}>{rate}</span>}
        </Fact>
        <Fact name={t('columns.answered')}>
          <span className={classes.line}>{answered ?? unknown}</span>
          {answered !== null && figures && (
            <span className={classes.line}>
              {t('answered.of', { count: figures.calls, calls: format.number(figures.calls) })}
            </span>
          )}
        </Fact>
      </dl>
    </Card>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={classes.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
