import type { Model } from '@berth/contract/models'
import { ActionIcon } from '@mantine/core'
import { IconArrowDown } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AnswerReader } from '../ui/markdown/answer-reader.ts'
import classes from './Turns.module.css'
import { TurnView } from './TurnView.tsx'
import type { Prompt, Turn } from './turns.ts'
import { useStickToEnd } from './use-stick-to-end.ts'

interface TurnListProps {
  turns: readonly Turn[]
  models: readonly Model[]
  reader: AnswerReader
  isBusy: boolean
  onAgain: (modelId: string) => void
  onEdit: (turnId: string, prompt: Prompt) => void
  /** What stands there while nothing was said. */
  children: ReactNode
}

/**
 * The conversation, which follows what is written at its end until somebody scrolls up. Turns out of sight are laid out
 * by nobody (`content-visibility`), so that long ones stay as quick as short ones.
 */
export function TurnList(props: TurnListProps) {
  const { turns, models, reader, isBusy, onAgain, onEdit, children } = props
  const { t } = useTranslation('chat')
  const { scroller, content, isAtEnd, toEnd } = useStickToEnd(turns.length)
  return (
    <div className={classes.frame}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section ref={scroller} className={classes.scroller} tabIndex={0} aria-label={t('turn.all')}>
        <div ref={content}>
          {turns.length === 0
            ? children
            : turns.map((turn, index) => (
                <TurnView
                  key={turn.id}
                  turn={turn}
                  models={models}
                  reader={reader}
                  isLast={index === turns.length - 1}
                  isBusy={isBusy}
                  onAgain={onAgain}
                  onEdit={onEdit}
                />
              ))}
        </div>
      </section>
      {!isAtEnd && (
        <ActionIcon
          variant="default"
          className={classes.toEnd}
          aria-label={t('turn.to_end')}
          title={t('turn.to_end')}
          onClick={toEnd}
        >
          <IconArrowDown size={16} stroke={1.6} />
        </ActionIcon>
      )}
    </div>
  )
}
