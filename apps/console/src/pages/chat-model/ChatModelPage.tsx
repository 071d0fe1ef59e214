import { CHAT_KINDS, type Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { ChatRoom } from '../../chat/ChatRoom.tsx'
import { Composer } from '../../chat/Composer.tsx'
import { SIDE_BY_SIDE_MAX } from '../../chat/chat-search.ts'
import { PriceBefore } from '../../chat/PriceBefore.tsx'
import { Starters } from '../../chat/Starters.tsx'
import { useRoom } from '../../chat/use-room.ts'
import { ModelsOfKinds } from '../../models/ModelsOfKinds.tsx'

export { prefetchModels as prefetch } from '../../models/ModelsOfKinds.tsx'

/** Chat with hosted models, one or several side by side (R2.3, B11). */
export function Page() {
  const { t } = useTranslation('chat')
  return (
    <ModelsOfKinds
      kinds={CHAT_KINDS}
      title={t('title.chat')}
      none={{ title: t('none.title'), hint: t('none.chat') }}
    >
      {models => <Talk models={models} />}
    </ModelsOfKinds>
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
