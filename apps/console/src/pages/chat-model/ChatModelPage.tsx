import { CHAT_KINDS, listModels, type Model } from '@berth/contract/models'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { useSession } from '../../app/session/session.ts'
import { ChatRoom } from '../../chat/ChatRoom.tsx'
import { Composer } from '../../chat/Composer.tsx'
import { SIDE_BY_SIDE_MAX } from '../../chat/chat-search.ts'
import { PriceBefore } from '../../chat/PriceBefore.tsx'
import { Starters } from '../../chat/Starters.tsx'
import { useRoom } from '../../chat/use-room.ts'
import { ModelsBar } from '../../models/ModelsBar.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'

const modelsQuery = queryOf(listModels, {})

/** Starts the page's query while its code is still being drawn. */
export function prefetch(): void {
  void queryClient.prefetchQuery(modelsQuery)
}

/** Chat with hosted models, one or several side by side (R2.3, B11). */
export function Page() {
  const { t } = useTranslation('chat')
  const { user } = useSession()
  const query = useQuery(modelsQuery)
  const { data } = query
  const able = useMemo(() => data?.filter(({ kind }) => CHAT_KINDS.includes(kind)), [data])
  return (
    <Answer query={query} data={able} rows={6}>
      {models =>
        models.length === 0 ? (
          <>
            <ModelsBar />
            <h1 className="said">{t('title.chat')}</h1>
            <EmptyState title={t('none.title')} hint={t('none.chat')} />
          </>
        ) : (
          // Whoever signs in or out begins anew.
          <Talk key={user?.id ?? ''} models={models} />
        )
      }
    </Answer>
  )
}

function Talk({ models }: { models: readonly Model[] }) {
  const { t } = useTranslation('chat')
  const room = useRoom({ name: 'chat-model', models, most: SIDE_BY_SIDE_MAX })
  const { chosen, draft, changeDraft } = room
  return (
    <ChatRoom
      room={room}
      title={t('title.chat')}
      models={models}
      most={SIDE_BY_SIDE_MAX}
      empty={<Starters count={chosen.length} onChoose={text => changeDraft({ text })} />}
    >
      <Composer
        text={draft.text}
        onType={text => changeDraft({ text })}
        sendKeys="enter"
        count={chosen.length}
        isGuest={room.isGuest}
        isAnswering={room.isBusy}
        onSend={() => room.send([])}
        onStop={room.stop}
      >
        <PriceBefore estimates={room.estimates([])} />
      </Composer>
    </ChatRoom>
  )
}
