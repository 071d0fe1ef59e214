import type { Model } from '@berth/contract/models'
import { ActionIcon, Loader } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { CopyButton } from '../ui/CopyText.tsx'
import { AnswerText } from '../ui/markdown/AnswerText.tsx'
import type { AnswerReader } from '../ui/markdown/answer-reader.ts'
import { AnswerFigures } from './AnswerFigures.tsx'
import { AnswerTrouble } from './AnswerTrouble.tsx'
import classes from './AnswerView.module.css'
import { type Answer, isUnderWay } from './turns.ts'

interface AnswerViewProps {
  /** Left out where this model was not asked. */
  answer: Answer | undefined
  model: Model
  reader: AnswerReader
  /** Has it answer once more. Left out where something came after it. */
  onAgain?: (() => void) | undefined
}

/** What one model answered: its text as it comes, or why there is none, and what it took. */
export function AnswerView({ answer, model, reader, onAgain }: AnswerViewProps) {
  const { t } = useTranslation('chat')
  const { name } = model
  if (!answer) return <p className={classes.absent}>{t('answer.not_asked', { name })}</p>
  const { state, text, thoughts } = answer
  const isOver = !isUnderWay(answer)
  return (
    <article className={classes.answer} aria-label={t('answer.of', { name })} aria-busy={!isOver}>
      {thoughts !== '' && (
        <details className={classes.thoughts}>
          <summary>{t('answer.thoughts')}</summary>
          <p>{thoughts}</p>
        </details>
      )}
      {text !== '' && <AnswerText text={text} reader={reader} />}
      {state === 'waiting' && (
        <p className={classes.waiting} role="status">
          <Loader size={14} />
          {t('answer.waiting')}
        </p>
      )}
      <AnswerTrouble answer={answer} model={model} onAgain={onAgain} />
      {state !== 'waiting' && state !== 'failed' && (
        <footer className={classes.foot}>
          <AnswerFigures answer={answer} />
          {isOver ? (
            <span className={classes.tools}>
              {text !== '' && <CopyButton textOf={() => text} label={t('answer.text')} />}
              {onAgain && (
                <ActionIcon
                  size="sm"
                  color="gray"
                  aria-label={t('answer.again', { name })}
                  title={t('answer.again', { name })}
                  onClick={onAgain}
                >
                  <IconRefresh size={14} />
                </ActionIcon>
              )}
            </span>
          ) : (
            <Loader size={12} aria-label={t('answer.writing')} />
          )}
        </footer>
      )}
    </article>
  )
}
