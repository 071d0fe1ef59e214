import { LETTERS_PER_TOKEN } from '@berth/contract/token-guess'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'
import classes from './Composer.module.css'
import type { Estimate } from './estimate.ts'

interface PriceBeforeProps {
  /** One for each model that is asked, with its name. */
  estimates: readonly (Estimate & { name: string })[]
  /** Pictures that are sent along, of whose tokens nothing is guessed. */
  pictures?: number
}

/** What the next message costs at the most, and what that is made from, where it is decided to send it. */
export function PriceBefore({ estimates, pictures = 0 }: PriceBeforeProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const sum = estimates.reduce((total, { mostMicro }) => total + mostMicro, 0n)
  const tooLong = estimates.find(({ tokensTooMany }) => tokensTooMany > 0)
  const tokens = Math.max(0, ...estimates.map(one => one.tokens))
  const answerTokens = Math.max(0, ...estimates.map(one => one.answerTokens))
  const figures = { tokens: format.number(tokens), answer: format.number(answerTokens) }
  return (
    <>
      <span>
        {estimates.length === 1 ? t('price.most') : t('price.most_all', { number: estimates.length })}{' '}
        <strong className="tabular">{format.exactMoney(sum, readCurrency())}</strong>{' '}
        <span>{t('price.held')}</span>
      </span>
      {tooLong ? (
        <span className={classes.warning}>
          {t('price.too_long', {
            count: tooLong.tokensTooMany,
            tokens: format.number(tooLong.tokensTooMany),
            name: tooLong.name,
          })}
        </span>
      ) : (
        <span className="tabular" title={t('price.guess', { letters: LETTERS_PER_TOKEN })}>
          {pictures > 0
            ? t('price.tokens_and_pictures', { count: pictures, ...figures })
            : t('price.tokens', figures)}
        </span>
      )}
    </>
  )
}
