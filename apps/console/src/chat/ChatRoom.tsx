import type { Model } from '@berth/contract/models'
import { ActionIcon, Button } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconColumns2, IconEdit, IconPlus } from '@tabler/icons-react'
import type { TFunction } from 'i18next'
import { type ReactNode, Suspense, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'
import { MissingModels } from '../models/MissingModels.tsx'
import { ModelsBar } from '../models/ModelsBar.tsx'
import { createAnswerReader } from '../ui/markdown/answer-reader.ts'
import classes from './ChatRoom.module.css'
import { LeaveAsk } from './LeaveAsk.tsx'
import { ModelHead } from './ModelHead.tsx'
import { SidePanel } from './SidePanel.tsx'
import { TurnList } from './TurnList.tsx'
import type { Turn } from './turns.ts'
import { useColumns } from './use-columns.ts'
import type { Room } from './use-room.ts'

const SideSheet = lazyPart(() => import('./SideSheet.tsx').then(module => module.SideSheet))
const SignInAsk = lazyPart(() => import('./SignInAsk.tsx').then(module => module.SignInAsk))

interface ChatRoomProps {
  room: Room
  /** What the page is, for those who do not see it. */
  title: string
  /** All that there are to choose from. */
  models: readonly Model[]
  most: number
  /** What stands there while nothing was said. */
  empty: ReactNode
  /** Said beside the conversation. */
  note?: ReactNode
  /** Where messages are written. */
  children: ReactNode
}

/** The frame of a conversation: its models on top, what was said, where it is written, and what belongs to it beside. */
export function ChatRoom({ room, title, models, most, empty, note, children }: ChatRoomProps) {
  const { t } = useTranslation('chat')
  const { chosen, turns, replaced, draft, changeDraft, isBusy } = room
  const [reader] = useState(createAnswerReader)
  useEffect(() => () => reader.end(), [reader])
  const [sheet, setSheet] = useState(false)
  const [asked, setAsked] = useState<{ label: string; carryOut: () => void } | null>(null)
  const { box, shown, showNext } = useColumns(chosen.length)
  const indexes = shown.join()
  const columns = useMemo(
    () => indexes.split(',').flatMap(index => chosen[Number(index)] ?? []),
    [chosen, indexes],
  )
  /** Asks first where anything would be gone. */
  const clearing = (label: string, isLost: boolean, carryOut: () => void) =>
    isLost ? setAsked({ label, carryOut }) : carryOut()
  const side = (
    <SidePanel
      {...{ draft, turns, replaced, note }}
      models={chosen}
      allModels={models}
      onDraft={changeDraft}
    />
  )

  return (
    <div className={classes.page} data-fills-page>
      <ModelsBar>
        {most > 1 && <AddModel {...{ room, models, most }} />}
        <Button
          variant="default"
          className={classes.action}
          aria-label={t('room.new')}
          leftSection={<IconEdit size={15} stroke={1.6} />}
          onClick={() => clearing(t('room.new'), turns.length > 0, room.clear)}
        >
          {t('room.new')}
        </Button>
      </ModelsBar>
      <div className={classes.room}>
        <h1 className="said">{title}</h1>
        <div className={classes.main} ref={box}>
          <MissingModels missing={room.missing} chosen={chosen} />
          <div className={classes.heads}>
            <div className={classes.columns}>
              {columns.map(model => (
                <ModelHead
                  key={model.id}
                  model={model}
                  models={models}
                  taken={chosen.filter(one => one !== model)}
                  usedTokens={usedTokens(turns, model.id)}
                  onChange={next =>
                    clearing(t('room.change'), hasAnswers(turns, model.id), () => {
                      room.forget(model.id)
                      room.choose(chosen.map(({ id }) => (id === model.id ? next : id)))
                    })
                  }
                  onRemove={
                    chosen.length < 2
                      ? undefined
                      : () =>
                          clearing(t('room.remove'), hasAnswers(turns, model.id), () => {
                            room.forget(model.id)
                            room.choose(chosen.flatMap(({ id }) => (id === model.id ? [] : id)))
                          })
                  }
                />
              ))}
            </div>
            <div className={classes.tools}>
              {columns.length < chosen.length && (
                <ActionIcon
                  variant="default"
                  aria-label={t('room.next')}
                  title={t('room.next')}
                  onClick={showNext}
                >
                  <IconColumns2 size={16} stroke={1.6} />
                </ActionIcon>
              )}
              <ActionIcon
                variant="default"
                className={classes.sheetButton}
                aria-label={t('side.label')}
                title={t('side.label')}
                onClick={() => setSheet(true)}
              >
                <IconAdjustmentsHorizontal size={16} stroke={1.6} />
              </ActionIcon>
            </div>
          </div>
          <TurnList {...{ turns, reader, isBusy }} models={columns} onAgain={room.again} onEdit={room.edit}>
            {empty}
          </TurnList>
          <p className="said" role="status">
            {isBusy ? '' : endedText(turns, t)}
          </p>
          {children}
        </div>
        <aside className={classes.side} aria-label={t('side.label')}>
          {side}
        </aside>
      </div>
      <LeaveAsk hasMessages={turns.length > 0} asked={asked} onAnswered={() => setAsked(null)} />
      <Suspense>
        {sheet && (
          <SideSheet title={t('side.label')} onClose={() => setSheet(false)}>
            {side}
          </SideSheet>
        )}
        {room.asksSignIn && <SignInAsk onClose={room.hasSignedIn} />}
      </Suspense>
    </div>
  )
}

/** Asks one more model; each is asked once (R5.10). */
function AddModel({ room, models, most }: Pick<ChatRoomProps, 'room' | 'models' | 'most'>) {
  const { t } = useTranslation('chat')
  const ids = room.chosen.map(({ id }) => id)
  const next = models.find(({ id }) => !ids.includes(id))
  const reason = !next ? t('room.none_left') : ids.length >= most ? t('room.most', { count: most }) : null
  return (
    <Button
      variant="default"
      className={classes.action}
      aria-label={t('room.add')}
      leftSection={<IconPlus size={15} stroke={1.6} />}
      title={reason ?? undefined}
      {...(reason === null ? {} : { 'aria-disabled': true, 'data-disabled': true })}
      onClick={() => next && reason === null && room.choose([...ids, next.id])}
    >
      {t('room.add')}
    </Button>
  )
}

/** How the newest answers have ended; of one that was stopped before it began there is nothing to say. */
function endedText(turns: readonly Turn[], t: TFunction<'chat'>): string {
  const answers = Object.values(turns.at(-1)?.answers ?? {})
  const failed = answers.filter(({ state }) => state === 'failed' || state === 'broke_off').length
  const there = answers.filter(
    ({ state, pieces }) => state === 'done' || (state === 'stopped' && pieces > 0),
  ).length
  return [
    ...(there > 0 ? [t('turn.ended', { count: there })] : []),
    ...(failed > 0 ? [t('turn.failed', { count: failed })] : []),
  ].join(' ')
}

function hasAnswers(turns: readonly Turn[], modelId: string): boolean {
  return turns.some(({ answers }) => modelId in answers)
}

/** Tokens that the conversation has, as the gateway counted them with the newest answer. */
function usedTokens(turns: readonly Turn[], modelId: string): number | null {
  const tokens = turns.findLast(({ answers }) => answers[modelId]?.tokens)?.answers[modelId]?.tokens
  return tokens ? tokens.input + tokens.output : null
}
