# An image with posegen and pictures, for CPUs. Not built by CI: see docs/install.md.
#   docker build -t posegen .
#   docker run --rm -v "$PWD/data:/data" posegen generate --config smoke --out /data/first
FROM python:3.13-slim
WORKDIR /posegen
COPY . .
RUN pip install --no-cache-dir --require-hashes --no-deps -r locks/run.txt \
 && pip install --no-cache-dir --no-deps --no-build-isolation . \
 && useradd --uid 1000 posegen \
 && install --directory --owner posegen /data /kernels
ENV POSEGEN_KERNEL_CACHE=/kernels POSEGEN_PORTABLE_KERNELS=1
USER 1000
WORKDIR /tmp
# Kernels are compiled here, once, for all x86-64 processors with AVX2; another processor compiles its own when it runs.
RUN posegen generate --config smoke --samples 2 --out first && rm -r first
WORKDIR /data
ENTRYPOINT ["posegen"]
CMD ["--help"]
