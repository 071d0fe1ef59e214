import type { Model } from '@berth/contract/models'
import { memo } from 'react'
import type { AnswerReader } from '../ui/markdown/answer-reader.ts'
import { AnswerView } from './AnswerView.tsx'
import { PromptView } from './PromptView.tsx'
import classes from './Turns.module.css'
import type { Prompt, Turn } from './turns.ts'

interface TurnViewProps {
  turn: Turn
  /** Those whose columns are shown. */
  models: readonly Model[]
  reader: AnswerReader
  isLast: boolean
  /** Nothing can be asked while something is answered. */
  isBusy: boolean
  onAgain: (modelId: string) => void
  onEdit: (turnId: string, prompt: Prompt) => void
}

/** One prompt across all columns, and under it what each model answered. It is drawn anew where itself has changed. */
export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { turn, models, reader, isLast, isBusy, onAgain, onEdit } = props
  return (
    <section className={classes.turn}>
      <PromptView
        turn={turn}
        isFollowed={!isLast}
        onEdit={isBusy ? undefined : prompt => onEdit(turn.id, prompt)}
      />
      <div className={classes.answers}>
        {models.map(model => (
          <div key={model.id} className={classes.cell}>
            <AnswerView
              answer={turn.answers[model.id]}
              model={model}
              reader={reader}
              onAgain={isLast && !isBusy ? () => onAgain(model.id) : undefined}
            />
          </div>
        ))}
      </div>
    </section>
  )
})
