import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { ChatRoom } from '../../chat/ChatRoom.tsx'
import { Composer } from '../../chat/Composer.tsx'
import { PictureButton } from '../../chat/PictureButton.tsx'
import { PictureList } from '../../chat/PictureList.tsx'
import { PriceBefore } from '../../chat/PriceBefore.tsx'
import { type PictureLimits, typeNames } from '../../chat/picture-check.ts'
import { usePictures } from '../../chat/use-pictures.ts'
import { useRoom } from '../../chat/use-room.ts'
import { ModelsOfKinds } from '../../models/ModelsOfKinds.tsx'
import { bytesText } from '../../ui/bytes.ts'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { useDrop } from '../../ui/use-drop.ts'
import classes from './MultiModalPage.module.css'

/** What a model takes that says nothing of pictures: none. */
const NO_PICTURES: PictureLimits = { count_max: 0, bytes_max: 0, types: [] }

const KINDS = ['multimodal'] as const

export { prefetchModels as prefetch } from '../../models/ModelsOfKinds.tsx'

/** Chat with a model that is shown pictures (R2.4, R2.29, R5.10). */
export function Page() {
  const { t } = useTranslation('chat')
  return (
    <ModelsOfKinds
      kinds={KINDS}
      title={t('title.multimodal')}
      none={{ title: t('none.title'), hint: t('none.multimodal') }}
    >
      {models => <Talk models={models} />}
    </ModelsOfKinds>
  )
}

function Talk({ models }: { models: readonly Model[] }) {
  const { t } = useTranslation('chat')
  const room = useRoom({ name: 'multi-modal', models, most: 1 })
  const { chosen, draft, changeDraft, turns } = room
  const limits = chosen[0]?.image_input ?? NO_PICTURES
  const pictures = usePictures(limits, turns)
  const { isOver, handlers } = useDrop(data => pictures.add([...data.files]))
  const send = () => {
    if (!pictures.isReading && room.send(pictures.ready)) pictures.clear()
  }
  const said = t('pictures.limits', {
    count: limits.count_max,
    size: bytesText(limits.bytes_max),
    types: typeNames(limits.types),
  })
  return (
    <div className={classes.page} {...handlers}>
      <ChatRoom
        room={room}
        title={t('title.multimodal')}
        models={models}
        most={1}
        empty={<EmptyState title={t('start.title')} hint={said} />}
        note={<p className={classes.note}>{t('pictures.kept')}</p>}
      >
        <Composer
          text={draft.text}
          onType={text => changeDraft({ text })}
          sendKeys="ctrl+enter"
          count={1}
          isGuest={room.isGuest}
          isAnswering={room.isBusy}
          reason={pictures.isReading ? t('pictures.waiting') : null}
          onSend={send}
          onStop={room.stop}
          onFiles={pictures.add}
          before={<PictureButton types={limits.types} onFiles={pictures.add} />}
          above={<PictureList attached={pictures.attached} limits={limits} onRemove={pictures.remove} />}
        >
          <PriceBefore estimates={room.estimates(pictures.ready)} pictures={pictures.ready.length} />
        </Composer>
      </ChatRoom>
      {isOver && <p className={classes.drop}>{t('pictures.drop')}</p>}
    </div>
  )
}
