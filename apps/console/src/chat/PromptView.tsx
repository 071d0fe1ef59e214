import { ActionIcon } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../ui/format.ts'
import { EditPrompt } from './EditPrompt.tsx'
import classes from './PromptView.module.css'
import type { Prompt, Turn } from './turns.ts'

interface PromptViewProps {
  turn: Pick<Turn, 'prompt' | 'atMs'>
  /** Asks something else in its place. Left out where nothing can be asked now. */
  onEdit?: ((prompt: Prompt) => void) | undefined
  /** Whether anything came after it, which an edit takes away. */
  isFollowed: boolean
}

/** What was asked, as it was typed: none of it is anything but text. */
export function PromptView({ turn, onEdit, isFollowed }: PromptViewProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const [isEdited, setEdited] = useState(false)
  const { text, pictures } = turn.prompt
  if (isEdited && onEdit) {
    return (
      <div className={classes.prompt}>
        <EditPrompt
          text={text}
          isFollowed={isFollowed}
          onCancel={() => setEdited(false)}
          onSend={next => {
            setEdited(false)
            onEdit({ text: next, pictures })
          }}
        />
      </div>
    )
  }
  return (
    <div className={classes.prompt}>
      <div className={classes.said}>
        <h3 className="said">{t('turn.prompt')}</h3>
        {text !== '' && <p className={classes.text}>{text}</p>}
        {pictures.length > 0 && (
          <ul className={classes.pictures}>
            {pictures.map(({ id, name, address }) => (
              <li key={id}>
                <img src={address} alt={name} className={classes.picture} decoding="async" />
                <span className={classes.name}>{name}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <time className={classes.time} dateTime={new Date(turn.atMs).toISOString()}>
        {format.clock(new Date(turn.atMs)).slice(0, -3)}
      </time>
      {onEdit && (
        <ActionIcon
          color="gray"
          size="sm"
          aria-label={t('turn.edit')}
          title={t('turn.edit')}
          onClick={() => setEdited(true)}
        >
          <IconPencil size={15} stroke={1.6} />
        </ActionIcon>
      )}
    </div>
  )
}
