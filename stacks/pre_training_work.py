"""What each process of the pre-training runs: data-parallel steps on random numbers, with checkpoints."""

from __future__ import annotations

__all__ = ["PROGRAM"]

# Tests run it on a stand-in for torch; it was never run on GPUs. The image has boto3.
PROGRAM = """
import io, os, boto3, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Transformer(1024, batch_first=True).cuda())
optimizer = torch.optim.AdamW(model.parameters())
bucket, _, folder = os.environ["JOB_CHECKPOINTS"].removeprefix("s3://").partition("/")
s3, kept, first = boto3.client("s3"), {"Bucket": bucket, "Key": folder + "last.pt"}, 0
try:
    last = torch.load(io.BytesIO(s3.get_object(**kept)["Body"].read()), map_location="cuda")
    model.load_state_dict(last["model"]), optimizer.load_state_dict(last["optimizer"])
    first = last["steps"]
except s3.exceptions.NoSuchKey:
    pass
for step in range(first, 1000):
    words = torch.rand(8, 512, 1024, device="cuda")
    loss = (model(words, words) - words).square().mean()
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    if (step + 1) % 100 == 0 and dist.get_rank() == 0:
        last = {"steps": step + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(last, file := io.BytesIO())
        s3.put_object(**kept, Body=file.getvalue())
        print("steps", step + 1, "loss", loss.item(), flush=True)
"""
