import type { Model } from '@berth/contract/models'
import { Button } from '@mantine/core'
import { IconAlertTriangle, IconRefresh } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../app/search.ts'
import { useFormat } from '../ui/format.ts'
import { paymentsOfPage } from '../ui/payments-of-page.ts'
import classes from './AnswerView.module.css'
import type { Answer } from './turns.ts'

interface AnswerTroubleProps {
  answer: Answer
  model: Model
  onAgain?: (() => void) | undefined
}

/** What money alone mends. */
const OF_MONEY = ['insufficient_balance', 'insufficient_quota', 'budget_reached']

/** Why there is no answer, or not all of it, in the place of that answer alone; and what can be done about it. */
export function AnswerTrouble({ answer, model, onAgain }: AnswerTroubleProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const { state, failure, isCut, text } = answer
  if (state === 'stopped')
    return <p className={classes.note}>{t(text === '' ? 'trouble.stopped_at_once' : 'trouble.stopped')}</p>
  if (isCut) return <p className={classes.note}>{t('trouble.cut')}</p>
  if (failure === null) return null
  const { message, tokensTooMany, code } = failure
  const isOfMoney = code !== null && OF_MONEY.includes(code)
  return (
    <div className={classes.trouble} role="alert">
      <IconAlertTriangle size={17} stroke={1.6} aria-hidden="true" className={classes.sign} />
      <div>
        <p className={classes.title}>{t(state === 'failed' ? 'trouble.failed' : 'trouble.broke_off')}</p>
        <p>{message}</p>
        {tokensTooMany !== null && (
          <p>
            {t('trouble.too_long', {
              count: tokensTooMany,
              tokens: format.number(tokensTooMany),
              limit: format.number(model.context_tokens),
            })}
          </p>
        )}
        <div className={classes.ways}>
          {isOfMoney && paymentsOfPage() !== 'none' && (
            <Button component={Link} to="/payments" search={searchOf({ topup: 'open' })} size="xs">
              {t('trouble.top_up')}
            </Button>
          )}
          {onAgain && (
            <Button variant="default" size="xs" leftSection={<IconRefresh size={14} />} onClick={onAgain}>
              {t('trouble.again')}
            </Button>
          )}
        </div>
      </div>
    </div>
  )
}
