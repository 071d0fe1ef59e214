import { type CustomImage, getImage } from '@berth/contract/images'
import type { Instance } from '@berth/contract/instances'
import { createImage } from '@berth/contract/own-images'
import { allRegions } from '@berth/contract/regions'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { session } from '../app/session/session.ts'
import { useWayTo } from '../app/way-to.ts'
import { DialogForm } from '../lists/FormDialog.tsx'
import { Answer } from '../ui/Answer.tsx'
import { portsToText } from '../ui/ports-text.ts'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import { toast } from '../ui/toast.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import { DockerfileFields, type DockerfileSource } from './DockerfileFields.tsx'
import classes from './ImageSheet.module.css'
import { dropDraft, readDraft, useKeptDraft } from './image-draft.ts'
import { createForms, NOTHING_SAID, saidOf } from './image-values.ts'
import { KeepingPrice } from './KeepingPrice.tsx'
import { SaidFields } from './SaidFields.tsx'
import { InstanceField, ReferenceFields } from './SourceFields.tsx'
import type { SheetTask } from './sheet-task.ts'

type CreateTask = Extract<SheetTask, { task: 'instance' | 'registry' | 'dockerfile' | 'again' | 'version' }>

interface CreateImageFormProps {
  about: CreateTask
  onMade: (image: CustomImage) => void
  onClose: () => void
}

/** What an image is made of. */
const SOURCES = ['instance', 'registry', 'dockerfile'] as const
type From = (typeof SOURCES)[number]

/**
 * Makes an image of an instance, of a registry's or of a Dockerfile; what failed, and the next version of what is published,
 * begin with what was said of it then.
 */
export function CreateImageForm(props: CreateImageFormProps) {
  const { about } = props
  if ('image' in about) return <Again {...props} about={about} />
  return <Form {...props} from={about.task} readme="" />
}

/** Its README is not in the list. */
function Again({
  about,
  ...props
}: CreateImageFormProps & { about: Extract<CreateTask, { image: CustomImage }> }) {
  const { t } = useTranslation('image-form')
  // The list goes on being read behind the sheet.
  const [{ id, source, kind }] = useState(about.image)
  const [from, setFrom] = useState<From>(sourceKindOf(source))
  const query = useQuery(queryOf(getImage, { params: { id } }))
  return (
    <Answer query={query} data={query.data} rows={6}>
      {({ readme }) => (
        <>
          {about.task === 'version' && <p className={classes.note}>{t('version.note')}</p>}
          {about.task === 'version' && kind === 'POD' && (
            <SegmentedFilter
              fill
              label={t('version.from')}
              value={from}
              onChange={setFrom}
              options={SOURCES.map(value => ({ value, label: t(`version.sources.${value}`) }))}
            />
          )}
          <Form key={from} {...props} about={about} from={from} readme={readme} />
        </>
      )}
    </Answer>
  )
}

function sourceKindOf({ image_reference, dockerfile, git }: CustomImage['source']): From {
  if (image_reference !== null) return 'registry'
  return dockerfile !== null || git !== null ? 'dockerfile' : 'instance'
}

function Form({
  about,
  from,
  readme,
  onMade,
  onClose,
}: CreateImageFormProps & { from: From; readme: string }) {
  const { t } = useTranslation(['image-form', 'common'])
  const toImages = useWayTo('/my-images')
  const create = useChange(createImage, {
    silent: true,
    whenGone: (_, { body }) => toast.good(t('create.gone', { name: body.name }), { link: toImages }),
  })
  const draft = draftName(about, from)
  const first = initialValues(about, from, readme)
  const [isSending, setSending] = useState(false)
  const isFree = from !== 'instance'
  const { form, ...state } = useContractForm({
    schema: createForms[from],
    initialValues: readDraft(draft, first),
    onSubmit: async body => {
      const image = await create.send({ body })
      dropDraft(draft)
      onMade(image)
    },
  })
  const { values, setFieldValue } = form
  const { data: regions } = useQuery(queryOf(allRegions, {}))
  const firstRegion = regions?.find(({ enabled }) => enabled)?.code
  useEffect(() => {
    if (isFree && values.region_code === '' && firstRegion !== undefined)
      setFieldValue('region_code', firstRegion)
  }, [isFree, values.region_code, firstRegion, setFieldValue])
  useKeptDraft(draft, form.isDirty() ? values : null)
  const choose = ({ instance_id, kind, region_code, http_ports, tcp_ports }: Instance) => {
    form.setValues({
      ...{ instance_id, kind, region_code },
      // What it opens, its image will open, unless something else was typed.
      ...(values.http_ports === '' && { http_ports: portsToText(http_ports) }),
      ...(values.tcp_ports === '' && { tcp_ports: portsToText(tcp_ports) }),
    })
    form.clearFieldError('instance_id')
  }
  return (
    <DialogForm
      call={createImage}
      state={{ ...state, busy: state.busy || isSending }}
      submitLabel={t('create.submit')}
      onCancel={onClose}
    >
      {from === 'registry' ? (
        <ReferenceFields fieldOf={path => form.getInputProps(path)} />
      ) : from === 'dockerfile' ? (
        <DockerfileFields
          values={values}
          onChange={source => form.setValues(source)}
          fieldOf={path => form.getInputProps(path)}
        />
      ) : (
        <InstanceField field={form.getInputProps('instance_id')} onChoose={choose} />
      )}
      <SaidFields
        fieldOf={path => form.getInputProps(path)}
        // An image of an instance is made where the instance is.
        isRegionFixed={!isFree}
        onSending={setSending}
      />
      <KeepingPrice />
    </DialogForm>
  )
}

/** Each customer's own, and one for each thing that an image is made of. */
function draftName(about: CreateTask, from: From): string {
  const what =
    'image' in about
      ? [about.image.id, ...(about.task === 'version' ? [from] : [])].join('.')
      : about.task === 'instance'
        ? about.instance?.instance_id
        : ''
  return [session().getState().user?.id, about.task, what].filter(Boolean).join('.')
}

function initialValues(about: CreateTask, from: From, readme: string) {
  const none = {
    version_of: null as string | null,
    instance_id: null as string | null,
    image_reference: null as string | null,
    dockerfile: null as DockerfileSource['dockerfile'],
    git: null as DockerfileSource['git'],
    registry_credential_id: null as string | null,
    kind: 'POD' as 'POD' | 'VM',
  }
  if (about.task === 'registry') return { ...none, ...NOTHING_SAID, image_reference: '' as string | null }
  if (about.task === 'dockerfile') return { ...none, ...NOTHING_SAID, dockerfile: '' as string | null }
  if (about.task === 'again') {
    const { source, kind, version_of } = about.image
    const { instance_id, image_reference, dockerfile, git } = source
    const of = { instance_id, image_reference, dockerfile, git, kind, version_of }
    return { ...none, ...saidOf(about.image, readme), ...of }
  }
  if (about.task === 'version') {
    const { source, kind, community_image_id: version_of } = about.image
    const { dockerfile, git } = source
    return {
      ...{ ...none, ...saidOf(about.image, readme), kind, version_of },
      // Its instance may be another one by now; what it was pulled or built of is likely the same.
      ...(from === 'registry' && { image_reference: source.image_reference ?? '' }),
      ...(from === 'dockerfile' && { dockerfile: git === null ? (dockerfile ?? '') : null, git }),
    }
  }
  const { instance } = about
  if (!instance) return { ...none, ...NOTHING_SAID }
  return {
    ...none,
    ...NOTHING_SAID,
    instance_id: instance.instance_id as string | null,
    kind: instance.kind,
    region_code: instance.region_code,
    http_ports: portsToText(instance.http_ports),
    tcp_ports: portsToText(instance.tcp_ports),
  }
}
