import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'
import classes from './SidePanel.module.css'
import { isUnderWay, type ReplacedAnswer, type Turn } from './turns.ts'

interface CostCardProps {
  turns: readonly Turn[]
  /** Answers that were asked for anew or edited away. */
  replaced: readonly ReplacedAnswer[]
  /** Those that are asked. */
  models: readonly Model[]
  /** Those that may have answered before. */
  allModels: readonly Model[]
}

interface Sum {
  micro: bigint
  tokens: number
  /** Answers whose cost is not known here: they were stopped or broke off. */
  unknown: number
}

/** What the conversation has cost so far, model by model and in all, as the gateway has charged it: with all that is not shown any more. */
export function CostCard({ turns, replaced, models, allModels }: CostCardProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const money = (micro: bigint) => format.exactMoney(micro, readCurrency())
  const removed = allModels.filter(
    ({ id }) => models.every(model => model.id !== id) && replaced.some(({ modelId }) => modelId === id),
  )
  const sums = [...models, ...removed].map(model => ({ model, ...sumOf(turns, replaced, model.id) }))
  const total = sums.reduce((all, { micro }) => all + micro, 0n)
  const unknown = sums.reduce((all, sum) => all + sum.unknown, 0)
  return (
    <section className={classes.cost} aria-label={t('cost.title')}>
      <h2 className={classes.title}>{t('cost.title')}</h2>
      <dl className={classes.sums}>
        {sums.map(({ model, micro, tokens }) => (
          <div key={model.id}>
            <dt>{t('cost.of', { name: model.name, count: tokens, tokens: format.number(tokens) })}</dt>
            <dd>{money(micro)}</dd>
          </div>
        ))}
        {sums.length > 1 && (
          <div>
            <dt>{t('cost.all', { count: sums.length })}</dt>
            <dd>{money(total)}</dd>
          </div>
        )}
      </dl>
      {unknown > 0 && <p className={classes.note}>{t('cost.unknown', { count: unknown })}</p>}
    </section>
  )
}

function sumOf(turns: readonly Turn[], replaced: readonly ReplacedAnswer[], modelId: string): Sum {
  const shown = turns.flatMap(({ answers }) => answers[modelId] ?? [])
  // One that was stopped for another one to take its place is under way no more.
  const ended = [...shown.filter(one => !isUnderWay(one)), ...replaced.filter(one => one.modelId === modelId)]
  const answers = [...shown.filter(isUnderWay), ...ended]
  return {
    micro: answers.reduce((sum, { costMicro }) => sum + BigInt(costMicro ?? 0), 0n),
    tokens: answers.reduce((sum, { tokens }) => sum + (tokens ? tokens.input + tokens.output : 0), 0),
    unknown: ended.filter(({ costMicro, pieces }) => costMicro === null && pieces > 0).length,
  }
}
