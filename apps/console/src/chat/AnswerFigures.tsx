import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'
import classes from './AnswerView.module.css'
import { type Answer, isUnderWay, speedOf } from './turns.ts'

/** What an answer took: until its first word, how fast, how many tokens, and what it cost once that is known. */
export function AnswerFigures({ answer }: { answer: Answer }) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const { askedMs, firstMs, tokens, costMicro, pieces, state } = answer
  const speed = speedOf(answer, performance.now())
  const seconds = firstMs === null ? null : ((firstMs - askedMs) / 1_000).toFixed(2)
  return (
    <dl className={classes.figures}>
      {seconds !== null && (
        <div>
          <dt>{t('figures.first')}</dt>
          <dd>{t('figures.seconds', { value: seconds })}</dd>
        </div>
      )}
      {speed !== null && (
        <div>
          <dt className="said">{t('figures.speed')}</dt>
          <dd>{t('figures.per_second', { value: format.number(Math.round(speed)) })}</dd>
        </div>
      )}
      <div>
        <dt className="said">{t('figures.tokens')}</dt>
        <dd>
          {tokens
            ? t('figures.in_out', {
                input: format.number(tokens.input),
                output: format.number(tokens.output),
              })
            : t('figures.out_so_far', { output: format.number(pieces) })}
        </dd>
      </div>
      {costMicro !== null && (
        <div>
          <dt className="said">{t('figures.cost')}</dt>
          <dd>{format.exactMoney(costMicro, readCurrency())}</dd>
        </div>
      )}
      {costMicro === null && !isUnderWay(answer) && (
        <div>
          <dt className="said">{t('figures.cost')}</dt>
          <dd className={classes.unknown}>
            {t(state === 'stopped' && pieces === 0 ? 'figures.nothing_came' : 'figures.cost_unknown')}
          </dd>
        </div>
      )}
    </dl>
  )
}
