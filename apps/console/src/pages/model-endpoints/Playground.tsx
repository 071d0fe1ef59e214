import { modelCode } from '@berth/contract/model-code'
import { chat, type Model } from '@berth/contract/models'
import { Button, Textarea } from '@mantine/core'
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react'
import { type FormEvent, type KeyboardEvent, type ReactNode, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../../app/lazy-part.ts'
import { useSession } from '../../app/session/session.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { AnswerView } from '../../chat/AnswerView.tsx'
import { isAnswering } from '../../chat/conversation.ts'
import { parametersOf, useDraft } from '../../chat/draft.ts'
import { estimateOf } from '../../chat/estimate.ts'
import { messagesFor, shownMessages } from '../../chat/messages.ts'
import { ParametersPanel } from '../../chat/ParametersPanel.tsx'
import { PriceBefore } from '../../chat/PriceBefore.tsx'
import { sentParameters } from '../../chat/parameters.ts'
import { useConversation } from '../../chat/use-conversation.ts'
import { CallCode } from '../../models/CallCode.tsx'
import { Card } from '../../ui/Card.tsx'
import { createAnswerReader } from '../../ui/markdown/answer-reader.ts'
import classes from './Playground.module.css'

const SignInAsk = lazyPart(() => import('../../chat/SignInAsk.tsx').then(module => module.SignInAsk))

interface PlaygroundProps {
  model: Model
  /** What is read beside the form. */
  children: ReactNode
}

/**
 * One prompt to one model: the price before, the answer as it comes, tokens and cost after, and the same call as a program
 * that follows the form (B11). What was typed is kept in this tab, so that signing in loses none of it.
 */
export function Playground({ model, children }: PlaygroundProps) {
  const { t } = useTranslation('models')
  const { user } = useSession()
  const [draft, change] = useDraft('playground')
  const { conversation, turns } = useConversation()
  const [reader] = useState(createAnswerReader)
  const [asksSignIn, setAsksSignIn] = useState(false)
  const isBusy = isAnswering(turns)
  const parameters = sentParameters(parametersOf({ ...draft, own: null }, model.id), model)
  const prompt = { text: draft.text, pictures: [] }
  const messages = messagesFor(model.id, [], prompt, draft.system)
  const estimate = { ...estimateOf({ messages, ...parameters }, model), name: model.name }
  const turn = turns.at(-1)

  const run = () => {
    if (draft.text.trim() === '' || isBusy) return
    if (user === null) return setAsksSignIn(true)
    conversation.clear()
    conversation.send(prompt, {
      modelIds: [model.id],
      system: draft.system,
      bodyOf: (id, all) => ({ model: id, messages: all, stream: true, ...parameters }),
      tooManyOf: () => estimate.tokensTooMany,
    })
  }
  return (
    <div className={classes.layout}>
      <div className={classes.try}>
        <PromptForm
          text={draft.text}
          isBusy={isBusy}
          isGuest={user === null}
          onType={text => change({ text })}
          onRun={run}
          onStop={conversation.stop}
        >
          <PriceBefore estimates={[estimate]} />
        </PromptForm>
        {turn && (
          <Card padding="none">
            <AnswerView
              answer={turn.answers[model.id]}
              model={model}
              reader={reader}
              onAgain={isBusy ? undefined : run}
            />
          </Card>
        )}
      </div>
      <div className={classes.code}>
        <Card title={t('one.code')}>
          <CallCode
            calls={[
              {
                codeOf: (tool, url) =>
                  modelCode(tool, {
                    ...{ url, model: model.id, parameters },
                    messages: shownMessages(model.id, [], draft),
                  }),
              },
            ]}
          />
        </Card>
      </div>
      <div className={classes.side}>
        {children}
        <Card title={t('one.parameters')}>
          <ParametersPanel draft={{ ...draft, own: null }} models={[model]} onChange={change} />
        </Card>
      </div>
      <Suspense>{asksSignIn && <SignInAsk onClose={() => setAsksSignIn(false)} />}</Suspense>
    </div>
  )
}

interface PromptFormProps {
  text: string
  isBusy: boolean
  isGuest: boolean
  onType: (text: string) => void
  onRun: () => void
  onStop: () => void
  /** What it will cost. */
  children: ReactNode
}

/** What is asked, what that will cost, and the one thing to do. */
function PromptForm({ text, isBusy, isGuest, onType, onRun, onStop, children }: PromptFormProps) {
  const { t } = useTranslation('models')
  const off = useOffFor(chat)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onRun()
  }
  const runByKeys = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return
    event.preventDefault()
    onRun()
  }
  return (
    <Card title={t('one.try')}>
      <form className={classes.form} onSubmit={submit} aria-label={t('one.try')}>
        <Textarea
          label={t('one.prompt')}
          placeholder={t('one.prompt_hint')}
          rows={5}
          value={text}
          onChange={event => onType(event.currentTarget.value)}
          onKeyDown={runByKeys}
        />
        <div className={classes.foot}>
          <div className={classes.price}>
            {children}
            {off !== null && <span>{off}</span>}
          </div>
          {isBusy ? (
            <Button leftSection={<IconPlayerStop size={15} stroke={1.8} />} onClick={onStop}>
              {t('one.stop')}
            </Button>
          ) : isGuest ? (
            <Button type="submit">{t('one.log_in')}</Button>
          ) : (
            <VerifiedButton
              call={chat}
              type="submit"
              reason={text.trim() === '' ? t('one.empty') : null}
              leftSection={<IconPlayerPlay size={15} stroke={1.8} />}
            >
              {t('one.run')}
            </VerifiedButton>
          )}
        </div>
      </form>
    </Card>
  )
}
