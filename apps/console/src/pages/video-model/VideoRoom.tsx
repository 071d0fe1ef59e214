import { type Creation, makeVideo, makeVideoBody } from '@berth/contract/creations'
import { modelMostMicro } from '@berth/contract/model-cost'
import type { Model } from '@berth/contract/models'
import { Suspense, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { readCurrency } from '../../app/session/session-storage.ts'
import { othersBefore, useCreations, useOutlook } from '../../making/creation-queries.ts'
import { MakingFoot } from '../../making/MakingFoot.tsx'
import { MakingRoom } from '../../making/MakingRoom.tsx'
import { fittingSize, type MakingDraft } from '../../making/making-draft.ts'
import { useChosenModel } from '../../making/use-chosen-model.ts'
import { useMakingForm } from '../../making/use-making-form.ts'
import { MissingModels } from '../../models/MissingModels.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { Films } from './Films.tsx'
import { VideoSettings } from './VideoSettings.tsx'

const SignInAsk = lazyPart(() => import('../../chat/SignInAsk.tsx').then(module => module.SignInAsk))

const MS = 1_000

/** The page with its models: what is chosen and typed at the left, what was made at the right. */
export function VideoRoom({ models }: { models: readonly [Model, ...Model[]] }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const { chosen, missing, choose } = useChosenModel('video-model', models)
  const make = useChange(makeVideo, {
    silent: true,
    behind: true,
    whenGone: () => toast.good(t('video.begun')),
  })
  const schema = useMemo(
    () => z.preprocess(values => bodyOf(values as MakingDraft, chosen), makeVideoBody),
    [chosen],
  )
  const form = useMakingForm({ name: 'video-model', schema, onSubmit: body => make.send({ body }) })
  const seconds = fittingSeconds(form.values.seconds, chosen)
  const outlook = useOutlook(chosen.id)

  const reuse = (run: Creation) => {
    if (models.some(({ id }) => id === run.model_id)) choose(run.model_id)
    const { prompt, negative_prompt, size, seed } = run
    form.change({
      ...{ prompt, negative_prompt, size, seed, seconds: run.seconds ?? 0 },
      image: run.image && { ...run.image, name: t('picture.earlier') },
      last_image: run.last_image && { ...run.last_image, name: t('picture.earlier') },
    })
  }
  const readyIn =
    outlook === null || outlook.median_ms === null
      ? null
      : format.duration((outlook.median_ms * seconds) / MS)
  // The same query as that of what is shown as under way.
  const own = useCreations('video', { show: 'open', search: '' }).data?.counts?.open ?? 0
  const others = othersBefore(outlook?.waiting_before ?? 0, own)
  const before = others === 0 ? null : t('video.before', { count: others })
  return (
    <>
      <MakingRoom
        title={t('title.video')}
        note={<MissingModels missing={missing} chosen={[chosen]} />}
        onSubmit={form.submit}
        begun={form.begun}
        settings={<VideoSettings {...{ form, models, chosen, choose, seconds }} />}
        foot={
          <MakingFoot
            call={makeVideo}
            priceMicro={modelMostMicro(chosen, { videoSeconds: seconds })}
            priceOf={t('video.price_of', {
              seconds,
              price: format.exactMoney(chosen.video_micro_per_second, readCurrency()),
            })}
            lines={
              readyIn !== null
                ? [{ name: t('video.ready'), value: [readyIn, before].filter(Boolean).join(', ') }]
                : before !== null
                  ? [{ name: t('video.queue'), value: before }]
                  : []
            }
            freeCalls={chosen.free_calls_per_day}
            callIs={t('video.call')}
            busy={form.busy}
            failure={form.failure}
            reason={form.isOffline ? t('foot.offline') : form.isSending ? t('picture.waiting') : null}
            note={t('video.charged_when')}
          >
            {t('video.make')}
          </MakingFoot>
        }
      >
        <Films models={models} onReuse={reuse} onPrompt={prompt => form.change({ prompt })} />
      </MakingRoom>
      <Suspense>
        {form.asksSignIn && <SignInAsk title={t('guest.title', { count: 1 })} onClose={form.endSignIn} />}
      </Suspense>
    </>
  )
}

/** What the call takes of what the form holds. */
function bodyOf(values: MakingDraft, model: Model): z.input<typeof makeVideoBody> {
  const { prompt, negative_prompt, seed, size, seconds, image, last_image, mail } = values
  const pictures = model.image_input?.count_max ?? 0
  return {
    ...{ model: model.id, prompt, negative_prompt, mail },
    size: fittingSize(size, model.sizes),
    seconds: fittingSeconds(seconds, model),
    // What is no number is said by the schema.
    seed: seed === '' ? null : (seed as number),
    image: pictures > 0 ? (image?.id ?? null) : null,
    last_image: pictures > 1 ? (last_image?.id ?? null) : null,
  }
}

/** The length that is chosen; the model's first where it makes none of that. */
function fittingSeconds(seconds: number, { video_seconds }: Model): number {
  return video_seconds.includes(seconds) ? seconds : (video_seconds[0] ?? 1)
}
