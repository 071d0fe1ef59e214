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
import { toast } from '../ui/toast.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import { DockerfileFields, type DockerfileSource } from './DockerfileFields.tsx'
import { dropDraft, readDraft, useKeptDraft } from './image-draft.ts'
import { createForms, NOTHING_SAID, saidOf } from './image-values.ts'
import { KeepingPrice } from './KeepingPrice.tsx'
import { SaidFields } from './SaidFields.tsx'
import { InstanceField, ReferenceFields } from './SourceFields.tsx'
import type { SheetTask } from './sheet-task.ts'

type CreateTask = Extract<SheetTask, { task: 'instance' | 'registry' | 'dockerfile' | 'again' }>

interface CreateImageFormProps {
  about: CreateTask
  onMade: (image: CustomImage) => void
  onClose: () => void
}

/** Makes an image of an instance, of a registry's or of a Dockerfile; what failed is begun with what was said of it then. */
export function CreateImageForm(props: CreateImageFormProps) {
  const { about } = props
  return about.task === 'again' ? <Again {...props} image={about.image} /> : <Form {...props} readme="" />
}

/** Its README is not in the list. */
function Again({ image, ...props }: CreateImageFormProps & { image: CustomImage }) {
  const query = useQuery(queryOf(getImage, { params: { id: image.id } }))
  return (
    <Answer query={query} data={query.data} rows={6}>
      {({ readme }) => <Form {...props} readme={readme} />}
    </Answer>
  )
}

function Form({ about, readme, onMade, onClose }: CreateImageFormProps & { readme: string }) {
  const { t } = useTranslation(['image-form', 'common'])
  const toImages = useWayTo('/my-images')
  const create = useChange(createImage, {
    silent: true,
    whenGone: (_, { body }) => toast.good(t('create.gone', { name: body.name }), { link: toImages }),
  })
  const draft = draftName(about)
  const first = initialValues(about, readme)
  const [isSending, setSending] = useState(false)
  const from =
    first.image_reference !== null
      ? 'registry'
      : first.dockerfile !== null || first.git !== null
        ? 'dockerfile'
        : 'instance'
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
function draftName(about: CreateTask): string {
  const what =
    about.task === 'again' ? about.image.id : about.task === 'instance' ? about.instance?.instance_id : ''
  return [session().getState().user?.id, about.task, what].filter(Boolean).join('.')
}

function initialValues(about: CreateTask, readme: string) {
  const none = {
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
    const { source, kind } = about.image
    const { instance_id, image_reference, dockerfile, git } = source
    return { ...none, ...saidOf(about.image, readme), instance_id, image_reference, dockerfile, git, kind }
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
